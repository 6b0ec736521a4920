import java.io.FileOutputStream;
import java.io.OutputStream;
import java.nio.file.Path;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.MiniDFSCluster;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.MiniYARNCluster;

/** YARN and HDFS on loopback, with all that is theirs below a directory, until the input ends. */
public class MiniHadoop {
    public static void main(String[] args) throws Exception {
        Path home = Path.of(args[0]);
        System.setProperty("test.build.data", home.resolve("data").toString());
        YarnConfiguration conf = new YarnConfiguration();
        conf.set("hadoop.tmp.dir", home.resolve("tmp").toString());
        MiniDFSCluster dfs =
            new MiniDFSCluster.Builder(conf, home.resolve("dfs").toFile()).numDataNodes(1).build();
        dfs.waitActive();
        conf.set("fs.defaultFS", dfs.getURI().toString());
        conf.set("yarn.scheduler.capacity.root.queues", "default");
        conf.set("yarn.scheduler.capacity.root.default.capacity", "100");
        conf.set("yarn.scheduler.capacity.maximum-am-resource-percent", "0.5");
        conf.setInt("yarn.scheduler.minimum-allocation-mb", 128);
        conf.setBoolean("yarn.nodemanager.vmem-check-enabled", false);
        // A disk that others fill is no fault of ours.
        conf.setFloat(
            "yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage", 100);
        MiniYARNCluster yarn = new MiniYARNCluster("segmend", 1, 1, 1);
        yarn.init(conf);
        yarn.start();
        yarn.waitForNodeManagersToConnect(120_000);
        Configuration told = new Configuration(yarn.getConfig());
        told.unset("net.topology.node.switch.mapping.impl"); // a class of the tests
        for (String name : new String[] {"core-site.xml", "yarn-site.xml", "hdfs-site.xml"}) {
            try (OutputStream file = new FileOutputStream(home.resolve("conf/" + name).toFile())) {
                told.writeXml(file);
            }
        }
        System.out.println("ready");
        System.in.read();
        System.exit(0);
    }
}
