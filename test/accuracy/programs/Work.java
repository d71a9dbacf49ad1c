// Work for a runtime to compile: recursion, accessors, sorting, strings, exceptions. Ends after two minutes.
import java.util.*;
public class Work {
    static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
    interface Shape { double area(); }
    record Square(double s) implements Shape { public double area() { return s * s; } }
    record Circle(double r) implements Shape { public double area() { return r * r * 3.14; } }
    static double work(int n) {
        List<Shape> list = new ArrayList<>();
        for (int i = 0; i < n; i++) list.add(i % 2 == 0 ? new Square(i * 7919 % 1000) : new Circle(i));
        list.sort(Comparator.comparingDouble(Shape::area));
        double sum = 0;
        for (Shape s : list) sum += s.area();
        StringBuilder b = new StringBuilder();
        for (int i = 0; i < 20; i++) b.append(i).append(',');
        try { if (n % 3 == 0) throw new IllegalStateException("e" + n); } catch (IllegalStateException e) { sum += e.getMessage().length(); }
        return sum + b.toString().hashCode() % 7 + fib(15);
    }
    public static void main(String[] a) {
        double t = 0;
        long end = System.currentTimeMillis() + 120000;
        for (int i = 0; System.currentTimeMillis() < end; i++) t += work(100 + i % 50);
        System.out.println(t);
    }
}
