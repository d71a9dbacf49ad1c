/*
 * The few functions of libcurl that a POST takes. Source: profile-formats.md section 2, Transport;
 * curl_easy_setopt(3).
 */
#include "send.h"

#include <curl/curl.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { TIMEOUT_MS = 10000 };

static struct {
    CURLcode (*start)(long flags);
    CURL *(*open)(void);
    CURLcode (*set)(CURL *curl, CURLoption option, ...);
    CURLcode (*perform)(CURL *curl);
    CURLcode (*get)(CURL *curl, CURLINFO info, ...);
    void (*close)(CURL *curl);
    const char *(*error)(CURLcode code);
    struct curl_slist *(*append)(struct curl_slist *list, const char *line);
    void (*free_list)(struct curl_slist *list);
} curl;

static bool loaded;

static void load(void)
{
    const struct {
        const char *name;
        void *function;
    } rows[] = {
        { "curl_global_init", &curl.start },        { "curl_easy_init", &curl.open },
        { "curl_easy_setopt", &curl.set },          { "curl_easy_perform", &curl.perform },
        { "curl_easy_getinfo", &curl.get },         { "curl_easy_cleanup", &curl.close },
        { "curl_easy_strerror", &curl.error },      { "curl_slist_append", &curl.append },
        { "curl_slist_free_all", &curl.free_list },
    };
    void *library = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
    for (size_t i = 0; library && i < sizeof rows / sizeof rows[0]; i++) {
        void *function = dlsym(library, rows[i].name);
        if (!function)
            return;
        memcpy(rows[i].function, &function, sizeof function);
    }
    loaded = library && curl.start(CURL_GLOBAL_DEFAULT) == CURLE_OK;
}

/* The answer has nothing that is wanted. */
static size_t drop(char *bytes, size_t size, size_t count, void *arg)
{
    (void)bytes, (void)arg;
    return size * count;
}

static CURLcode post(CURL *handle, const char *url, const void *bytes, size_t size, const struct curl_slist *headers,
                     long *status)
{
    curl.set(handle, CURLOPT_URL, url);
    curl.set(handle, CURLOPT_NOSIGNAL, 1L);
    curl.set(handle, CURLOPT_PROTOCOLS_STR, "http,https");
    curl.set(handle, CURLOPT_TIMEOUT_MS, (long)TIMEOUT_MS);
#if LIBCURL_VERSION_NUM >= 0x075700 /* else a name server that hangs is waited for behind the time */
    curl.set(handle, CURLOPT_QUICK_EXIT, 1L);
#endif
    curl.set(handle, CURLOPT_HTTPHEADER, headers);
    curl.set(handle, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)size);
    curl.set(handle, CURLOPT_POSTFIELDS, bytes);
    curl.set(handle, CURLOPT_WRITEFUNCTION, drop);
    const CURLcode code = curl.perform(handle);
    curl.get(handle, CURLINFO_RESPONSE_CODE, status);
    return code;
}

bool send_otlp(const char *url, const void *bytes, size_t size, char message[SEND_MESSAGE])
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    long status = 0;
    message[0] = 0;
    pthread_once(&once, load);
    CURL *handle = loaded ? curl.open() : NULL;
    if (!handle) {
        snprintf(message, SEND_MESSAGE, "libcurl.so.4 cannot be loaded");
        return false;
    }
    /* Without the empty one, a large body waits a second for permission. */
    struct curl_slist *headers = curl.append(curl.append(NULL, "Content-Type: application/x-protobuf"), "Expect:");
    const CURLcode code = post(handle, url, bytes, size, headers, &status);
    if (code != CURLE_OK)
        snprintf(message, SEND_MESSAGE, "%s", curl.error(code));
    else if (status < 200 || status > 299)
        snprintf(message, SEND_MESSAGE, "the answer is %ld", status);
    curl.free_list(headers);
    curl.close(handle);
    return !message[0];
}
