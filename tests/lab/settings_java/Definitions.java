import java.io.PrintStream;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.common.config.ConfigDef;

/** Prints a release's definitions of its settings: topic or server, name, type, validator, flags. */
public class Definitions {
  private static final PrintStream OUT = System.out;

  private static ConfigDef find(String... names) throws Exception {
    for (String name : names) {
      Class<?> found;
      try {
        found = Class.forName(name);
      } catch (ClassNotFoundException e) {
        continue;
      }
      List<Field> fields = new ArrayList<>(Arrays.asList(found.getDeclaredFields()));
      fields.sort(Comparator.comparing(f -> f.getName().startsWith("CONFIG") ? 0 : 1));
      for (Field field : fields) {
        if (ConfigDef.class.isAssignableFrom(field.getType())) {
          field.setAccessible(true);
          Object owner = Modifier.isStatic(field.getModifiers()) ? null : found.getField("MODULE$").get(null);
          ConfigDef value = (ConfigDef) field.get(owner);
          if (value != null) return value;
        }
      }
    }
    throw new IllegalStateException(String.join(", ", names));
  }

  private static boolean refuses(ConfigDef.ConfigKey key, List<String> value, String because) {
    try {
      if (key.validator != null) key.validator.ensureValid(key.name, value);
      return false;
    } catch (Exception e) {
      return e.getMessage().contains(because);
    }
  }

  private static void print(String kind, ConfigDef all) {
    for (ConfigDef.ConfigKey key : new TreeMap<>(all.configKeys()).values()) {
      List<String> flags = new ArrayList<>();
      if (key.type == ConfigDef.Type.LIST) {
        if (refuses(key, Arrays.asList("delete", ""), "values must not be empty.")
            || refuses(key, Arrays.asList("broker", ""), "values must not be empty.")
            || refuses(key, Arrays.asList("classic", ""), "values must not be empty.")) flags.add("no-blank");
        if (refuses(key, Collections.emptyList(), "must not be empty. Valid")) flags.add("no-empty");
      }
      if (key.defaultValue == ConfigDef.NO_DEFAULT_VALUE) flags.add("required");
      String valid = String.valueOf(key.validator).replace("\n", " ");
      OUT.println(String.join("\t", kind, key.name, key.type.toString(), valid, String.join(" ", flags)));
    }
  }

  public static void main(String[] args) throws Exception {
    System.setOut(System.err);
    print("topic", find("org.apache.kafka.storage.internals.log.LogConfig", "kafka.log.LogConfig$"));
    print("server", find("org.apache.kafka.server.config.AbstractKafkaConfig", "kafka.server.KafkaConfig$"));
  }
}
