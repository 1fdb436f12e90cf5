import java.io.IOException;
import java.io.ObjectInputStream;
import java.io.Serializable;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import javax.management.MBeanServer;
import javax.management.ObjectName;
import javax.management.StandardMBean;

/** A process with a JMX port and a few beans; its number identifies it. Prints a line when ready. */
public final class JmxServer {
    public interface Numbers {
        long getNumber();

        double getHalf();

        double getNothing();

        boolean getYes();

        String getText();

        long getBroken();
    }

    public interface Hostile {
        Object getGadget();
    }

    public interface Texts {
        String getText();
    }

    public interface Slow {
        long getNumber() throws InterruptedException;
    }

    public interface Client {
        double getTokens();
    }

    /** Creates a file in whatever process deserializes it. */
    public static final class Gadget implements Serializable {
        private static final long serialVersionUID = 1L;
        private final String file;

        Gadget(String file) {
            this.file = file;
        }

        private void readObject(ObjectInputStream in) throws IOException, ClassNotFoundException {
            in.defaultReadObject();
            Files.createFile(Path.of(file));
        }
    }

    private record SomeNumbers(long getNumber) implements Numbers {
        public double getHalf() {
            return 0.5;
        }

        public double getNothing() {
            return Double.NaN;
        }

        public boolean getYes() {
            return true;
        }

        public String getText() {
            return "text";
        }

        public long getBroken() {
            throw new IllegalStateException("broken");
        }
    }

    /** Arguments: the number, the file that the gadget creates, milliseconds that the slow bean takes. */
    public static void main(String[] arguments) throws Exception {
        long number = Long.parseLong(arguments[0]);
        long pause = Long.parseLong(arguments[2]);
        register("type=Numbers", Numbers.class, new SomeNumbers(number));
        register("type=Hostile", Hostile.class, (Hostile) () -> new Gadget(arguments[1]));
        register("type=Large", Texts.class, (Texts) () -> "x".repeat(30 << 20));
        for (int text = 0; text < 60; text++) {
            register("type=Texts,number=" + text, Texts.class, (Texts) () -> "x".repeat(2 << 20));
        }
        for (int slow = 0; slow < 20; slow++) {
            register("type=Slow,number=" + slow, Slow.class, (Slow) () -> {
                Thread.sleep(pause);
                return number;
            });
        }
        for (int many = 0; many < 1005; many++) {
            register("type=Many,client-id=" + many, Client.class, (Client) () -> number);
        }
        for (String client : new String[] {"plain", "a=b,\"c\"", "x*y?z", "line\nbreak", "back\\slash"}) {
            register("type=Client,client-id=" + ObjectName.quote(client), Client.class, (Client) () -> number);
        }
        register("type=Maker", Client.class, (Client) () -> makeLate(number));
        System.out.println("ready");
        Thread.sleep(Long.MAX_VALUE);
    }

    private static long makeLate(long number) {
        try {
            register("type=Late", Numbers.class, new SomeNumbers(number));
        } catch (Exception again) {
            throw new IllegalStateException(again);
        }
        return number;
    }

    private static <T> void register(String name, Class<T> type, T bean) throws Exception {
        MBeanServer server = ManagementFactory.getPlatformMBeanServer();
        server.registerMBean(new StandardMBean(bean, type), new ObjectName("test:" + name));
    }
}
