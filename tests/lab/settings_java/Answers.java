import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.Map;
import java.util.Properties;
import java.util.Scanner;

/** Reads lines "topic|server TAB key=value TAB key=value ..." and prints what the release says of each. */
public class Answers {
  private static void topic(Properties given) throws Exception {
    try {
      Class<?> found = Class.forName("org.apache.kafka.storage.internals.log.LogConfig");
      found.getConstructor(Map.class).newInstance(given);
      return;
    } catch (ClassNotFoundException e) {
      // a release with its LogConfig in Scala
    }
    for (Method method : Class.forName("kafka.log.LogConfig").getMethods()) {
      if (method.getName().equals("fromProps") && method.getParameterCount() == 2) {
        method.invoke(null, new Properties(), given);
        return;
      }
    }
  }

  private static void server(Properties given) throws Exception {
    Class.forName("kafka.server.KafkaConfig").getMethod("fromProps", Properties.class).invoke(null, given);
  }

  public static void main(String[] args) throws Exception {
    PrintStream out = System.out;
    System.setOut(System.err);
    Scanner in = new Scanner(System.in);
    while (in.hasNextLine()) {
      String[] line = in.nextLine().split("\t", -1);
      Properties given = new Properties();
      for (int i = 1; i < line.length; i++) {
        int end = line[i].indexOf('=');
        if (end > 0) given.put(line[i].substring(0, end), line[i].substring(end + 1));
      }
      String said = "";
      try {
        if (line[0].equals("topic")) topic(given);
        else server(given);
      } catch (InvocationTargetException e) {
        said = String.valueOf(e.getCause().getMessage());
      }
      out.println(said.replace("\n", " "));
    }
  }
}
