/*
 * The profiler's parts that need no runtime: options, the ring between handlers and the collector, names of files,
 * columns, events' bytes, texts, messages.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "diagnostics/ipc.h"
#include "diagnostics/process.h"
#include "profiler/columns.h"
#include "profiler/events.h"
#include "profiler/imports.h"
#include "profiler/options.h"
#include "profiler/output.h"
#include "profiler/ring.h"
#include "profiler/threads.h"
#include "profiler/wide.h"
#include "send/send.h"

#define LEN(array) (sizeof(array) / sizeof(array)[0])

/* ---- signals ---- */

static void ignore_one(int number, siginfo_t *about, void *context)
{
    (void)number, (void)about, (void)context;
}

/* mov rax, 15; syscall: the end of a signal, of each C library. */
static void handlers_return_to_the_end_of_a_signal(void **state)
{
    static const uint8_t end[] = { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 };
    const int number = threads_signal(ignore_one);
    (void)state;
    assert_int_not_equal(number, 0);
    assert_memory_equal((const void *)(uintptr_t)threads_handlers_return(), end, sizeof end);
    assert_ptr_not_equal(signal(number, SIG_DFL), SIG_ERR);
}

static void ticks_are_passed_over_where_a_period_has_several(void **state)
{
    static const struct {
        uint64_t period_ns, tick_ns;
        struct thread_rate rate;
    } rows[] = {
        { 10000000, 4000000, { 1000, 4000, 10000 } }, /* two of five give a sample */
        { 10000000, 1000000, { 1000, 1000, 10000 } },
        { 4000000, 4000000, { 1000, 0, 4000 } },
        { 1000000, 4000000, { 1000, 0, 1000 } }, /* more than the clock gives: each */
        { 10000000, 1, { 10000000, 0, 0 } },     /* no ticks are known of: as the kernel does it */
        { 0, 4000000, { 0, 0, 0 } },
    };
    (void)state;
    for (size_t i = 0; i < LEN(rows); i++) {
        const struct thread_rate rate = threads_rate(rows[i].period_ns, rows[i].tick_ns);
        assert_memory_equal(&rate, &rows[i].rate, sizeof rate);
    }
}

static volatile uint64_t sampled_ns;
static volatile unsigned sampled, signals;

static void count_one(int number, siginfo_t *about, void *context)
{
    uint64_t ns = 0;
    (void)number, (void)context;
    signals++;
    if (threads_purpose(about, &ns) != SIGNAL_CPU)
        return;
    sampled++;
    sampled_ns += ns;
}

static uint64_t own_time_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* What is passed over is told, so that nothing is missing: at most what went by since the last tick. */
static void processor_time_is_whole_at_every_rate(void **state)
{
    static const uint64_t periods_ns[] = { 1000000, 20000000 };
    static const struct sigaction action = { .sa_sigaction = count_one, .sa_flags = SA_SIGINFO | SA_RESTART };
    (void)state;
    assert_int_equal(sigaction(threads_signal(ignore_one), &action, NULL), 0);
    for (size_t i = 0; i < LEN(periods_ns); i++) {
        sampled_ns = sampled = signals = 0;
        threads_set_period(periods_ns[i]);
        threads_begin((pid_t)threads_self());
        const uint64_t begun_ns = own_time_ns();
        while (own_time_ns() - begun_ns < 400000000)
            ;
        threads_set_period(0);
        const uint64_t took_ns = own_time_ns() - begun_ns, told_ns = sampled_ns + threads_passed_over();
        assert_in_range(told_ns, took_ns - 50000000, took_ns + 1000000);
        assert_in_range(sampled, 1, i == 0 ? signals : signals / 2);
    }
    threads_end((pid_t)threads_self());
    assert_ptr_not_equal(signal(threads_signal(ignore_one), SIG_DFL), SIG_ERR);
}

/* ---- imports ---- */

static pid_t no_parent(void)
{
    return 12345;
}

static void an_import_is_put_to_something_else(void **state)
{
    (void)state;
    assert_false(
        imports_replace((const void *)(uintptr_t)no_parent, "a_function_of_nobody", (void (*)(void))no_parent));
    assert_false(imports_replace(NULL, "getppid", (void (*)(void))no_parent));
    assert_int_not_equal(getppid(), 12345);
    assert_true(imports_replace((const void *)(uintptr_t)no_parent, "getppid", (void (*)(void))no_parent));
    assert_int_equal(getppid(), 12345);
}

/* ---- options ---- */

static void options_have_defaults(void **state)
{
    struct options options;
    char message[OPTIONS_MESSAGE];
    (void)state;
    assert_true(options_from_text(&options, "", 0, message));
    assert_int_equal(options.modes, MODE_CPU);
    assert_int_equal(options.hz, 100);
    assert_int_equal(options.memory_mb, 32);
    assert_true(options.start && options.lines);
    assert_string_equal(options.out, "snapwalk-%p.pb.gz");
    assert_true(options_from_text(&options, "SNAPWALK_ENDPOINT=http://a", 99, message));
    assert_string_equal(options.out, ""); /* it is sent, and not written */
}

static void options_are_taken_from_lines(void **state)
{
    static const char text[] =
        "SNAPWALK_MODE=wall,locks\nSNAPWALK_HZ=10000\n\nSNAPWALK_OUT=a=b.folded\nSNAPWALK_START=0";
    struct options options;
    char message[OPTIONS_MESSAGE];
    (void)state;
    assert_true(options_from_text(&options, text, sizeof text + 100, message)); /* the NUL ends it */
    assert_int_equal(options.modes, MODE_WALL | MODE_LOCKS);
    assert_int_equal(options.hz, 10000);
    assert_string_equal(options.out, "a=b.folded");
    assert_false(options.start);
    assert_string_equal(message, "");
}

static void options_that_are_wrong_are_named(void **state)
{
    static const struct {
        const char *line, *said;
    } rows[] = {
        { "SNAPWALK_HZ=0", "SNAPWALK_HZ=0: not a number from 1 to 10000" },
        { "SNAPWALK_HZ=10001", "SNAPWALK_HZ=10001: not a number from 1 to 10000" },
        { "SNAPWALK_HZ=", "SNAPWALK_HZ=: not a number from 1 to 10000" },
        { "SNAPWALK_HZ= 5", "SNAPWALK_HZ= 5: not a number from 1 to 10000" },
        { "SNAPWALK_HZ=99999999999999999999999", "SNAPWALK_HZ=99999999999999999999999: not a number from 1 to 10000" },
        { "SNAPWALK_MODE=cpu,", "SNAPWALK_MODE=cpu,: not a list of cpu, wall, alloc, exceptions, locks" },
        { "SNAPWALK_MODE=cp", "SNAPWALK_MODE=cp: not a list of cpu, wall, alloc, exceptions, locks" },
        { "SNAPWALK_RAW_NAMES=2", "SNAPWALK_RAW_NAMES=2: not a number from 0 to 1" },
        { "SNAPWALK_OUT=/tmp/profile",
          "SNAPWALK_OUT=/tmp/profile: ends in none of .pb.gz, .otlp, .folded, .speedscope.json, .html" },
        { "SNAPWALK_OUT=a.json",
          "SNAPWALK_OUT=a.json: ends in none of .pb.gz, .otlp, .folded, .speedscope.json, .html" },
        { "dump", "dump: no such option" },
        { "HOME=/", "HOME: no such option" },
    };
    struct options options;
    char message[OPTIONS_MESSAGE], longer[3 * OPTIONS_TEXT] = "SNAPWALK_OUT=";
    (void)state;
    for (size_t i = 0; i < LEN(rows); i++) {
        assert_false(options_from_text(&options, rows[i].line, strlen(rows[i].line), message));
        assert_string_equal(message, rows[i].said);
        assert_int_equal(options.hz, 100);
        assert_int_equal(options.modes, MODE_CPU);
        assert_string_equal(options.out, "snapwalk-%p.pb.gz");
    }
    memset(longer + strlen(longer), 'x', sizeof longer - strlen(longer));
    assert_false(options_from_text(&options, longer, sizeof longer, message));
    assert_string_equal(message, "SNAPWALK_OUT: longer than 511 bytes");
}

static void options_of_the_environment(void **state)
{
    struct options options;
    char message[OPTIONS_MESSAGE];
    (void)state;
    setenv("SNAPWALK_HZ", "7", 1);
    setenv("SNAPWALK_MEMORY_MB", "3", 1);
    assert_false(options_from_environment(&options, message));
    assert_string_equal(message, "SNAPWALK_MEMORY_MB=3: not a number from 4 to 4096");
    assert_int_equal(options.hz, 7);
    assert_int_equal(options.memory_mb, 32);
    unsetenv("SNAPWALK_HZ");
    unsetenv("SNAPWALK_MEMORY_MB");
}

/* ---- the ring ---- */

static bool write_words(struct ring *ring, uint64_t first, size_t count)
{
    uint64_t words[RING_RECORD_MAX + 1] = { first };
    for (size_t i = 1; i < count && i <= RING_RECORD_MAX; i++)
        words[i] = first + i;
    return ring_write(ring, (const void *[]){ words, words + 1 }, (size_t[]){ 1, count - 1 });
}

static size_t read_words(struct ring *ring, uint64_t first)
{
    uint64_t words[RING_RECORD_MAX];
    const size_t count = ring_read(ring, words);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(words[i], first + i);
    return count;
}

/* Records of 1,000 words: each fifth or so does not fit in front of the end. */
static void records_come_out_as_they_went_in(void **state)
{
    struct ring ring = { 0 };
    uint64_t written = 0, read = 0;
    (void)state;
    assert_true(ring_create(&ring, 0));
    for (int turn = 0; turn < 100; turn++) {
        while (write_words(&ring, written * 1000000, 1000))
            written++;
        assert_true(written - read >= 6); /* 8,192 words, of which one record's length may be left out */
        while (read < written)
            assert_int_equal(read_words(&ring, read++ * 1000000), 1000);
        assert_int_equal(read_words(&ring, 0), 0);
    }
    ring_destroy(&ring);
}

/* Few pages of a large buffer are used for as long as it is read in time. */
static void an_empty_ring_begins_anew(void **state)
{
    enum { BYTES = 1 << 20 };
    struct ring ring = { 0 };
    (void)state;
    assert_true(ring_create(&ring, BYTES));
    for (uint64_t i = 1; i < 200; i++) {
        assert_true(write_words(&ring, i * 1000000, 1000));
        assert_int_equal(read_words(&ring, i * 1000000), 1000);
        assert_int_equal(read_words(&ring, 0), 0);
    }
    assert_int_equal(atomic_load(&ring.words[2 * RING_RECORD_MAX]), 0);
    assert_in_range(atomic_load(&ring.head) & (ring.capacity - 1), 0, RING_RECORD_MAX + 1000);
    ring_destroy(&ring);
}

static void what_has_no_room_is_refused(void **state)
{
    struct ring ring = { 0 };
    (void)state;
    assert_true(ring_create(&ring, 0));
    assert_false(write_words(&ring, 1, RING_RECORD_MAX));
    assert_true(write_words(&ring, 1, RING_RECORD_MAX - 1));
    assert_true(write_words(&ring, 2, RING_RECORD_MAX - 1));
    assert_false(write_words(&ring, 3, 1));
    assert_int_equal(read_words(&ring, 1), RING_RECORD_MAX - 1);
    assert_true(write_words(&ring, 3, 1));
    assert_int_equal(read_words(&ring, 2), RING_RECORD_MAX - 1);
    assert_int_equal(read_words(&ring, 3), 1);
    ring_destroy(&ring);
}

enum { WRITERS = 4, RECORDS = 20000 };

static struct ring shared;

static void *write_many(void *arg)
{
    const uint64_t writer = (uint64_t)(uintptr_t)arg;
    for (uint64_t i = 0; i < RECORDS;)
        i += write_words(&shared, writer << 48 | i << 16, 2 + (i * 7 + writer) % 50);
    return NULL;
}

static void writers_do_not_mix(void **state)
{
    pthread_t threads[WRITERS];
    uint64_t words[RING_RECORD_MAX], next[WRITERS] = { 0 }, left = WRITERS * RECORDS;
    (void)state;
    assert_true(ring_create(&shared, 0));
    for (uintptr_t i = 0; i < WRITERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, write_many, (void *)i), 0);
    while (left) {
        const size_t count = ring_read(&shared, words);
        const uint64_t writer = words[0] >> 48, number = words[0] >> 16 & 0xffffffff;
        if (!count)
            continue;
        assert_true(writer < WRITERS);
        assert_int_equal(number, next[writer]++);
        assert_int_equal(count, 2 + (number * 7 + writer) % 50);
        assert_int_equal(words[count - 1], words[0] + count - 1);
        left--;
    }
    for (size_t i = 0; i < WRITERS; i++)
        pthread_join(threads[i], NULL);
    ring_destroy(&shared);
}

/* ---- names of files ---- */

static void files_have_the_process_in_their_names(void **state)
{
    static const struct {
        const char *pattern;
        unsigned long number;
        const char *name;
    } rows[] = {
        { "a.pb.gz", 1, "a-42.pb.gz" },
        { "a.pb.gz", 2, "a-42-2.pb.gz" },
        { "/d.x/%p/a.folded", 1, "/d.x/42/a.folded" },
        { "%t-%p%%.speedscope.json", 3, "1700-42%-3.speedscope.json" },
        { "%z%", 1, NULL },
        { "%z.txt", 1, "%z-42.txt" },
        { "%.txt", 1, "%-42.txt" },
        { "no-format", 1, NULL },
    };
    char name[OUTPUT_NAME], longer[OUTPUT_NAME + 9];
    (void)state;
    for (size_t i = 0; i < LEN(rows); i++) {
        assert_int_equal(output_name(rows[i].pattern, 42, 1700, rows[i].number, name), rows[i].name != NULL);
        if (rows[i].name)
            assert_string_equal(name, rows[i].name);
    }
    memset(longer, 'a', sizeof longer);
    strcpy(longer + sizeof longer - 8, ".folded");
    assert_false(output_name(longer, 42, 1700, 1, name));
    assert_false(output_name(longer + sizeof longer - OUTPUT_NAME, 42, 1700, 1, name));
    assert_true(output_name(longer + sizeof longer - OUTPUT_NAME + 3, 42, 1700, 1, name));
}

static void files_of_this_process_are_known(void **state)
{
    char name[] = "/tmp/snapwalk-parts-XXXXXX";
    const struct timespec old[2] = { { 1000, 0 }, { 1000, 0 } };
    const int file = mkstemp(name);
    (void)state;
    assert_true(file >= 0);
    assert_true(output_is_own(name));
    assert_int_equal(futimens(file, old), 0);
    assert_false(output_is_own(name));
    close(file);
    unlink(name);
    assert_false(output_is_own(name));
}

/* ---- columns ---- */

static void columns_are_those_of_the_modes(void **state)
{
    struct columns columns;
    const struct sample lock = { .kind = SAMPLE_LOCK, .values = { 1, 500 } },
                        cpu = { .kind = SAMPLE_CPU, .values = { 9 } };
    int64_t values[SW_PROFILE_VALUES_MAX];
    (void)state;
    columns_choose(&columns, MODE_CPU);
    assert_int_equal(columns.count, 2);
    assert_int_equal(columns.shown, 1);
    columns_choose(&columns, MODE_ALLOC | MODE_LOCKS);
    assert_int_equal(columns.count, 5);
    assert_string_equal(columns.types[columns.shown].type, "alloc_space");
    columns_fill(&columns, &lock, 1, values);
    const int64_t expected[] = { 1, 0, 0, 1, 500 };
    assert_memory_equal(values, expected, sizeof expected);
    columns_fill(&columns, &cpu, 3, values); /* there is no such column: it is counted alone */
    const int64_t counted[] = { 3, 0, 0, 0, 0 };
    assert_memory_equal(values, counted, sizeof counted);
    columns_choose(&columns, ~0U);
    assert_int_equal(columns.count, 8);
}

static void add_sample(struct sw_profile *profile, const char *function, uint64_t thread, int64_t samples, int64_t ns)
{
    const struct sw_profile_line line = { .function = function };
    const struct sw_profile_location place = { .lines = &line, .line_count = 1 };
    const uint32_t frame = sw_profile_location_add(profile, &place);
    const struct sw_profile_sample sample = { .stack = &frame,
                                              .depth = 1,
                                              .values = (const int64_t[]){ samples, ns },
                                              .thread = thread ? sw_profile_thread_add(profile, thread, "t") : 0 };
    assert_int_equal(sw_profile_sample_add(profile, &sample), SW_PROFILE_OK);
}

/* One thread of 80, of which three samples of four are at b; another of 20; and what belongs to none. */
static void samples_of_a_thread_have_equal_shares(void **state)
{
    static const struct {
        uint64_t more;
        const char *folded;
    } rows[] = { { 0, "a 20\nb 60\nc 20\nlost 7\n" }, { 50, "a 30\nb 90\nc 30\nlost 7\n" } };
    const struct sw_profile_value_type types[] = { { "samples", "count" }, { "cpu", "nanoseconds" } };
    const struct sw_profile_options options = { .values = types, .value_count = 2, .default_value = 1 };
    const struct sw_profile_view view = { .value = 1 };
    (void)state;
    for (size_t i = 0; i < LEN(rows); i++) {
        struct sw_profile *profile;
        char *text = NULL;
        size_t size = 0;
        assert_int_equal(sw_profile_create(&options, &profile), SW_PROFILE_OK);
        add_sample(profile, "a", 1, 1, 70);
        add_sample(profile, "b", 1, 3, 10);
        add_sample(profile, "c", 2, 9, 20);
        add_sample(profile, "lost", 0, 2, 7);
        assert_int_equal(sw_profile_share(profile, 2, 0, 0), SW_PROFILE_E_ARGUMENT);
        assert_int_equal(sw_profile_share(profile, 1, 0, rows[i].more), SW_PROFILE_OK);
        FILE *file = open_memstream(&text, &size);
        assert_int_equal(sw_profile_write_folded(profile, &view, file), SW_PROFILE_OK);
        fclose(file);
        assert_string_equal(text, rows[i].folded);
        free(text);
        sw_profile_destroy(profile);
    }
}

/* ---- events ---- */

static uint8_t *put(uint8_t *at, uint64_t value, size_t size)
{
    memcpy(at, &value, size); /* little endian, as the runtime's hosts are */
    return at + size;
}

static uint8_t *put_text(uint8_t *at, const char *text)
{
    do
        at = put(at, (uint8_t)*text, 2);
    while (*text++);
    return at;
}

/* Of each event every shorter one is refused, whatever is cut off. */
static void refused_when_cut(DWORD id, const uint8_t *event, size_t size, size_t needed)
{
    struct sample sample;
    for (size_t cut = 0; cut < needed; cut++) {
        uint8_t *copy = malloc(cut ? cut : 1); /* so that a read behind the end is found */
        memcpy(copy, event, cut);
        assert_false(events_read(id, copy, (ULONG)cut, &sample));
        free(copy);
    }
    assert_true(events_read(id, event, (ULONG)size, &sample));
}

static void a_sampled_allocation_stands_for_more(void **state)
{
    uint8_t event[200], *at = event;
    struct sample sample;
    (void)state;
    at = put(put(put(at, 0, 4), 9, 2), 0x1234, 8);
    at = put(put(put(put_text(at, "System.Byte[]"), 0x7000, 8), 1024, 8), 5, 8);
    assert_true(events_read(303, event, (ULONG)(at - event), &sample));
    assert_int_equal(sample.kind, SAMPLE_ALLOC);
    assert_string_equal(sample.text, "System.Byte[]");
    assert_int_equal(sample.values[0], 101);    /* 1 / (1 - exp(-1024 / 102400)) = 100.5008 */
    assert_int_equal(sample.values[1], 102913); /* times 1024 */
    refused_when_cut(303, event, (size_t)(at - event), (size_t)(at - event) - 8);
}

static void a_tick_stands_for_what_was_allocated(void **state)
{
    uint8_t event[200], *at = event;
    struct sample sample;
    (void)state;
    at = put(put(put(put(put(at, 104000, 4), 0, 4), 9, 2), 104000, 8), 0x1234, 8);
    at = put(put(put(put_text(at, "A"), 0, 4), 0x7000, 8), 1000, 8);
    assert_true(events_read(10, event, (ULONG)(at - event), &sample));
    assert_string_equal(sample.text, "A");
    assert_int_equal(sample.values[0], 104);
    assert_int_equal(sample.values[1], 104000);
    refused_when_cut(10, event, (size_t)(at - event), (size_t)(at - event));
}

static void exceptions_and_locks(void **state)
{
    uint8_t event[600], *at = put_text(event, "System.Exception");
    struct sample sample;
    const double ns = 1500.75, bad = -1.0;
    uint64_t bits;
    (void)state;
    refused_when_cut(80, event, (size_t)(at - event), (size_t)(at - event));
    assert_true(events_read(80, event, (ULONG)(at - event), &sample));
    assert_string_equal(sample.text, "System.Exception");
    assert_int_equal(sample.values[0], 1);
    memcpy(&bits, &ns, 8);
    at = put(put(put(event, 0, 1), 9, 2), bits, 8);
    refused_when_cut(91, event, 11, 11);
    assert_true(events_read(91, event, 11, &sample));
    assert_int_equal(sample.values[1], 1500);
    memcpy(&bits, &bad, 8);
    at = put(event + 3, bits, 8);
    assert_true(events_read(91, event, (ULONG)(at - event), &sample));
    assert_int_equal(sample.values[1], 0);
    assert_false(events_read(92, event, 11, &sample));
    memset(event, 'x', sizeof event);
    event[598] = event[599] = 0;
    assert_true(events_read(80, event, 600, &sample)); /* a type's name that is too long is cut */
    assert_int_equal(strlen(sample.text), 126);        /* 42 characters of three bytes */
}

/* ---- texts ---- */

static void wide_texts_become_utf8(void **state)
{
    static const WCHAR text[] = { 'a', 0xe9, 0x20ac, 0xd83d, 0xde00, 0xd800, 'b', 0 };
    char kept[32], small[4];
    (void)state;
    wide_to_text(text, LEN(text), kept, sizeof kept);
    assert_string_equal(kept, "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xef\xbf\xbd"
                              "b");
    wide_to_text(text, LEN(text), small, sizeof small);
    assert_string_equal(small, "a\xc3\xa9");
    wide_to_text(text, 3, small, sizeof small);
    assert_string_equal(small, "a\xc3\xa9");
    wide_to_text(text + 3, 1, kept, sizeof kept); /* the pair's other half is behind the end */
    assert_string_equal(kept, "\xef\xbf\xbd");
}

/* ---- the command ---- */

static void an_attach_has_these_bytes(void **state)
{
    static const uint8_t expected[] = {
        'D',  'O', 'T', 'N', 'E',  'T', '_',  'I',  'P', 'C',  '_', 'V', '1', 0, 62, 0, 3, 1, 0,   0,   0x88,
        0x13, 0,   0,   0,   0,    0,   0,    0,    0,   0,    0,   0,   0,   0, 0,  0, 0, 0, 0,   6,   0,
        0,    0,   '/', 0,   0xe9, 0,   0x3d, 0xd8, 0,   0xde, 'b', 0,   0,   0, 2,  0, 0, 0, 'h', 'i',
    };
    static uint8_t message[IPC_MAX];
    static char longer[IPC_MAX];
    (void)state;
    assert_int_equal(ipc_attach(message, 5000,
                                "/\xc3\xa9\xf0\x9f\x98\x80"
                                "b",
                                "hi"),
                     sizeof expected);
    assert_memory_equal(message, expected, sizeof expected);
    memset(longer, 'x', sizeof longer - 1);
    assert_int_equal(ipc_attach(message, 5000, "/a", longer), 0);
    assert_int_equal(ipc_attach(message, 5000, longer, ""), 0);
    longer[IPC_MAX - 1 - 54] = 0; /* header 20, timeout 4, CLSID 16, text 4 + 6, length 4: 54 */
    assert_int_equal(ipc_attach(message, 5000, "/a", longer), IPC_MAX - 1);
    longer[IPC_MAX - 1 - 54] = 'x';
    longer[IPC_MAX - 54] = 0;
    assert_int_equal(ipc_attach(message, 5000, "/a", longer), IPC_MAX);
}

static void a_perf_map_is_asked_for_with_these_bytes(void **state)
{
    static const uint8_t on[] = "DOTNET_IPC_V1\0\x18\0\4\5\0\0\3\0\0", off[] = "DOTNET_IPC_V1\0\x14\0\4\6\0";
    static uint8_t message[IPC_MAX];
    (void)state;
    assert_int_equal(ipc_perf_map(message, true), sizeof on);
    assert_memory_equal(message, on, sizeof on);
    assert_int_equal(ipc_perf_map(message, false), sizeof off);
    assert_memory_equal(message, off, sizeof off);
}

static void texts_that_are_no_utf8_are_refused(void **state)
{
    static const char *const rows[] = { "", "\x80", "\xc3", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xff" };
    static uint8_t message[IPC_MAX];
    (void)state;
    for (size_t i = 0; i < LEN(rows); i++)
        assert_int_equal(ipc_attach(message, 0, rows[i], ""), 0);
}

static void answers_are_read(void **state)
{
    uint8_t answer[24] = { 'D', 'O', 'T', 'N', 'E',  'T',  '_', 'I', 'P',  'C', '_',  'V',
                           '1', 0,   24,  0,   0xff, 0xff, 0,   0,   0x57, 0,   0x07, 0x80 };
    uint32_t result;
    (void)state;
    assert_true(ipc_answer(answer, sizeof answer, &result));
    assert_int_equal(result, 0x80070057);
    assert_false(ipc_answer(answer, sizeof answer - 1, &result));
    answer[14] = 20;
    assert_false(ipc_answer(answer, sizeof answer, &result));
    answer[14] = 24;
    answer[17] = 7;
    assert_false(ipc_answer(answer, sizeof answer, &result));
    answer[17] = 0;
    answer[16] = 3;
    assert_false(ipc_answer(answer, sizeof answer, &result));
    answer[16] = 0xff;
    answer[0] = 'd';
    assert_false(ipc_answer(answer, sizeof answer, &result));
}

static void ignore(int signal)
{
    (void)signal;
}

static void what_proc_says(void **state)
{
    unsigned long long ticks;
    long pid;
    (void)state;
    assert_true(process_started("7 (a) b) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20", &ticks));
    assert_int_equal(ticks, 4711);
    assert_false(process_started("7 (a) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18", &ticks));
    assert_false(process_started("7 (a) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711", &ticks)); /* cut? */
    assert_false(process_started("7 (a", &ticks));
    assert_false(process_started("7 (a)", &ticks));
    assert_true(process_inner_pid("Name:\ta\nNSpid:\t300\t20\t1\nX:\t9\n", &pid));
    assert_int_equal(pid, 1);
    assert_true(process_inner_pid("Name:\ta\nNSpid:\t300\n", &pid));
    assert_int_equal(pid, 300);
    assert_false(process_inner_pid("Name:\tNSpid:\t3\n", &pid));
    assert_false(process_inner_pid("Name:\ta\nNSpid:\n", &pid));
}

/* ---- sending ---- */

/* A receiver of one request: what it got, and what it answers. */
struct receiver {
    int listener;
    const char *answer;
    char got[8192];
    size_t size;
};

static void what_is_known_of_this_process(void **state)
{
    (void)state;
    assert_int_equal(process_own_pid(getpid()), getpid());
    assert_int_equal(process_own_pid(1 << 30), 0);
    signal(SIGURG, SIG_DFL);
    assert_false(process_catches(getpid(), SIGURG));
    signal(SIGURG, ignore);
    assert_true(process_catches(getpid(), SIGURG));
    assert_false(process_stands(getpid()));
    assert_true(process_was_told(getpid(), "parts"));
    assert_false(process_was_told(getpid(), "no such word, it is to be hoped"));
    const int folder = process_tmp(getpid());
    assert_true(folder >= 0);
    close(folder);
}

static void *receive_one(void *arg)
{
    struct receiver *r = arg;
    const int file = accept(r->listener, NULL, NULL);
    const char *body = NULL;
    while (!body || r->size < (size_t)(body - r->got) + 3000) {
        const ssize_t more = recv(file, r->got + r->size, sizeof r->got - 1 - r->size, 0);
        if (more <= 0)
            break;
        r->size += (size_t)more;
        body = memmem(r->got, r->size, "\r\n\r\n", 4);
        body = body ? body + 4 : NULL;
    }
    (void)!write(file, r->answer, strlen(r->answer));
    close(file);
    return NULL;
}

static bool send_to(struct receiver *r, const char *bytes, char message[SEND_MESSAGE])
{
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof address;
    char url[100];
    pthread_t thread;
    r->listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(r->listener, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(r->listener, 1), 0);
    assert_int_equal(getsockname(r->listener, (struct sockaddr *)&address, &size), 0);
    assert_int_equal(pthread_create(&thread, NULL, receive_one, r), 0);
    snprintf(url, sizeof url, "http://127.0.0.1:%u/v1development/profiles", ntohs(address.sin_port));
    const bool sent = send_otlp(url, bytes, 3000, message);
    pthread_join(thread, NULL);
    close(r->listener);
    return sent;
}

static void a_profile_is_posted(void **state)
{
    static char bytes[3000], message[SEND_MESSAGE];
    struct receiver good = { .answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}" };
    struct receiver bad = { .answer = "HTTP/1.1 415 No\r\nContent-Length: 0\r\n\r\n" };
    struct receiver silent = { .answer = "" };
    (void)state;
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)(i * 7);
    unsetenv("http_proxy");
    assert_true(send_to(&good, bytes, message));
    assert_string_equal(message, "");
    assert_memory_equal(good.got, "POST /v1development/profiles HTTP/1.1\r\n", 39);
    assert_non_null(strstr(good.got, "\r\nContent-Type: application/x-protobuf\r\n"));
    assert_non_null(strstr(good.got, "\r\nContent-Length: 3000\r\n"));
    assert_memory_equal(good.got + good.size - sizeof bytes, bytes, sizeof bytes);
    assert_false(send_to(&bad, bytes, message));
    assert_string_equal(message, "the answer is 415");
    assert_false(send_to(&silent, bytes, message));
    assert_string_not_equal(message, "");
    assert_false(send_otlp("file:///dev/null", bytes, 1, message));
    assert_string_not_equal(message, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ticks_are_passed_over_where_a_period_has_several),
        cmocka_unit_test(processor_time_is_whole_at_every_rate),
        cmocka_unit_test(options_have_defaults),
        cmocka_unit_test(options_are_taken_from_lines),
        cmocka_unit_test(options_that_are_wrong_are_named),
        cmocka_unit_test(options_of_the_environment),
        cmocka_unit_test(records_come_out_as_they_went_in),
        cmocka_unit_test(an_empty_ring_begins_anew),
        cmocka_unit_test(what_has_no_room_is_refused),
        cmocka_unit_test(writers_do_not_mix),
        cmocka_unit_test(files_have_the_process_in_their_names),
        cmocka_unit_test(files_of_this_process_are_known),
        cmocka_unit_test(columns_are_those_of_the_modes),
        cmocka_unit_test(samples_of_a_thread_have_equal_shares),
        cmocka_unit_test(a_sampled_allocation_stands_for_more),
        cmocka_unit_test(a_tick_stands_for_what_was_allocated),
        cmocka_unit_test(exceptions_and_locks),
        cmocka_unit_test(handlers_return_to_the_end_of_a_signal),
        cmocka_unit_test(wide_texts_become_utf8),
        cmocka_unit_test(an_attach_has_these_bytes),
        cmocka_unit_test(a_perf_map_is_asked_for_with_these_bytes),
        cmocka_unit_test(texts_that_are_no_utf8_are_refused),
        cmocka_unit_test(answers_are_read),
        cmocka_unit_test(what_proc_says),
        cmocka_unit_test(what_is_known_of_this_process),
        cmocka_unit_test(an_import_is_put_to_something_else),
        cmocka_unit_test(a_profile_is_posted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
