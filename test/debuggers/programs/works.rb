# Ruby: calls by blocks of C's functions, by a method made of a block, by a fiber, in the main thread and another; each says
# itself by whom it was called. It sleeps or, with an argument, works. Methods are long, so that there are many lines.
class Works
  def initialize(work)
    @work = work
    @kept = [3, 1, 2]
  end

  def again(n)
    return stay if n == 0
    @kept.each do |k|
      again(n - 1) if k == 3
    end
  end

  def self.begun(work)
    a = b = c = d = e = f = g = h = 1
    a += b + c; b += c + d; c += d + e; d += e + f; e += f + g; f += g + h
    a += b + c; b += c + d; c += d + e; d += e + f; e += f + g; f += g + h
    a += b + c; b += c + d; c += d + e; d += e + f; e += f + g; f += g + h
    new(work).again(3)
  end

  define_method(:made) { Works.begun(@work) }

  def stay
    caller_locations(1).each { |l| puts "#{Thread.current.name} #{l.lineno} #{l.label}" }
    puts "ready" if Thread.current.name == "other"
    $stdout.flush
    @work ? work : sleep
  end

  def work
    loop { @kept.map { |k| k.to_s }.sort_by { |s| -s.to_i } }
  end
end

def outermost(work)
  [1].map { |x| Fiber.new { Works.new(work).made }.resume }
end

Thread.current.name = "main"
$stdout.sync = true
other = Thread.new do
  Thread.current.name = "other"
  sleep 0.2
  Works.new(ARGV[0]).made
end
outermost(ARGV[0])
