/* Knows files and the receiver; nothing of samples. What waits to be sent are the bytes of one message. */
#include "deliver.h"
#include "output.h"
#include "send/send.h"
#include "threads.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FILES_MAX = 10000 };

static const struct options *options;
static size_t shown;

struct message {
    char *bytes;
    size_t size;
};

/* The one on its way; `has_thread`: it is to be joined. */
static struct {
    struct message message;
    pthread_t thread;
    bool has_thread;
    _Atomic bool busy;
} sender;

void deliver_open(const struct options *given, size_t column)
{
    options = given;
    shown = column;
}

/* ---- files ---- */

static bool name_file(unsigned long number, char name[OUTPUT_NAME])
{
    return output_name(options->out, (unsigned long)getpid(), (unsigned long)time(NULL), number, name);
}

unsigned long deliver_files(void)
{
    char name[OUTPUT_NAME];
    unsigned long count = 0;
    while (count < FILES_MAX && name_file(count + 1, name) && output_is_own(name))
        count++;
    return count;
}

static bool write_file(const struct sw_profile *done, unsigned long number)
{
    char name[OUTPUT_NAME];
    if (!options->out[0])
        return true;
    if (!name_file(number, name)) {
        fprintf(stderr, "snapwalk-profiler: SNAPWALK_OUT=%.200s: too long, or no format ends so\n", options->out);
        return false;
    }
    if (!output_write(done, shown, name)) {
        fprintf(stderr, "snapwalk-profiler: %s: %s\n", name, strerror(errno));
        return false;
    }
    if (options->verbose)
        fprintf(stderr, "snapwalk-profiler: %s\n", name);
    return true;
}

/* ---- the receiver ---- */

static bool make_message(const struct sw_profile *done, struct message *message)
{
    *message = (struct message){ 0 };
    FILE *file = open_memstream(&message->bytes, &message->size);
    const bool made = file && sw_profile_write_otlp(done, file) == SW_PROFILE_OK;
    if (file && fclose(file) == 0 && made)
        return true;
    fprintf(stderr, "snapwalk-profiler: %.200s: no memory\n", options->endpoint);
    free(message->bytes);
    return false;
}

/* Frees it. */
static bool send_message(struct message *message)
{
    char problem[SEND_MESSAGE];
    const bool sent = send_otlp(options->endpoint, message->bytes, message->size, problem);
    if (!sent)
        fprintf(stderr, "snapwalk-profiler: %.200s: %s\n", options->endpoint, problem);
    else if (options->verbose)
        fprintf(stderr, "snapwalk-profiler: %.200s: sent %zu bytes\n", options->endpoint, message->size);
    free(message->bytes);
    return sent;
}

static void *run(void *arg)
{
    (void)arg;
    threads_exclude();
    (void)pthread_setname_np(pthread_self(), "snapwalk-send");
    (void)send_message(&sender.message);
    atomic_store(&sender.busy, false);
    return NULL;
}

bool deliver_is_busy(void)
{
    return atomic_load(&sender.busy);
}

void deliver_close(void)
{
    if (sender.has_thread)
        pthread_join(sender.thread, NULL);
    sender.has_thread = false;
}

/* ---- both ---- */

bool deliver_now(const struct sw_profile *done, unsigned long number)
{
    struct message message;
    const bool written = write_file(done, number);
    return (!options->endpoint[0] || (make_message(done, &message) && send_message(&message))) && written;
}

bool deliver_soon(const struct sw_profile *done, unsigned long number)
{
    if (!options->endpoint[0])
        return deliver_now(done, number);
    deliver_close();
    const bool written = write_file(done, number);
    if (!make_message(done, &sender.message))
        return false;
    atomic_store(&sender.busy, true);
    sender.has_thread = pthread_create(&sender.thread, NULL, run, NULL) == 0;
    if (!sender.has_thread) {
        (void)send_message(&sender.message);
        atomic_store(&sender.busy, false);
    }
    return written;
}
