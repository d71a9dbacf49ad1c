// Java: interpreted and compiled methods, inlined ones, lambdas, native methods, locks; as many threads as asked for.
import java.util.Arrays;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;

public class Floors {
    static CountDownLatch there;
    static volatile boolean waits;

    interface Body { int run(int n); }

    static void waitThere() {
        there.countDown();
        for (;;) LockSupport.park();
    }
    static int leaf(int n) { if (waits) waitThere(); return n + 1; }
    static int inlined(int n) { return leaf(n) * 3; }
    static int compiled(int n) { return n == 0 ? inlined(n) : compiled(n - 1) + 1; }
    static int interpreted(int depth) { if (depth == 0) waitThere(); return interpreted(depth - 1) + 1; }
    static void sorted() { Arrays.sort(new Integer[] { 3, 1, 2 }, (a, b) -> { waitThere(); return a - b; }); }
    static void monitor(Object lock) throws Exception { synchronized (lock) { there.countDown(); for (;;) lock.wait(); } }
    static void sleeper() throws Exception { there.countDown(); for (;;) Thread.sleep(600000); }

    static void start(String name, Runnable body) {
        Thread thread = new Thread(body, name);
        thread.setDaemon(true);
        thread.start();
    }
    public static void main(String[] arguments) throws Exception {
        int more = arguments.length > 0 ? Integer.parseInt(arguments[0]) : 0;
        there = new CountDownLatch(5 + more);
        int sum = 0;
        for (int i = 0; i < 40000; i++) sum += compiled(20);
        Body body = Floors::compiled;
        waits = true;
        start("compiled", () -> body.run(20));
        start("interpreted", () -> interpreted(7));
        start("sorted", Floors::sorted);
        start("monitor", () -> { try { monitor(new Object()); } catch (Exception e) { } });
        start("sleeper", () -> { try { sleeper(); } catch (Exception e) { } });
        for (int i = 0; i < more; i++) start("idle " + i, Floors::waitThere);
        there.await();
        Thread.sleep(200);
        System.out.println("ready " + (sum & 1));
        System.in.read();
    }
}
