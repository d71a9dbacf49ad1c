/*
 * An agent that writes the perf map of a Java virtual machine while it runs: compiled methods, adapters, stubs, the
 * interpreter. HotSpot itself writes one on demand or at its end only. Source: JVM Tool Interface 17,
 * CompiledMethodLoad, DynamicCodeGenerated, GenerateEvents.
 */
#include <jvmti.h>

#include <stdio.h>
#include <unistd.h>

static FILE *map;

static void write_line(const void *address, jint size, const char *owner, const char *name)
{
    if (size > 0)
        fprintf(map, "%lx %x %s%s\n", (unsigned long)address, (unsigned)size, owner, name);
}

static void JNICALL on_compiled(jvmtiEnv *env, jmethodID method, jint size, const void *address, jint count,
                                const jvmtiAddrLocationMap *locations, const void *compile_info)
{
    jclass type;
    char *owner = NULL, *name = NULL;
    (void)count, (void)locations, (void)compile_info;
    if ((*env)->GetMethodDeclaringClass(env, method, &type) == JVMTI_ERROR_NONE)
        (void)(*env)->GetClassSignature(env, type, &owner, NULL);
    (void)(*env)->GetMethodName(env, method, &name, NULL, NULL);
    write_line(address, size, owner ? owner : "?", name ? name : "?");
    (void)(*env)->Deallocate(env, (unsigned char *)owner);
    (void)(*env)->Deallocate(env, (unsigned char *)name);
}

static void JNICALL on_generated(jvmtiEnv *env, const char *name, const void *address, jint size)
{
    (void)env;
    write_line(address, size, "", name);
}

/* What was made before events were sent. */
static void JNICALL on_start(jvmtiEnv *env, JNIEnv *jni, jthread thread)
{
    (void)jni, (void)thread;
    (void)(*env)->GenerateEvents(env, JVMTI_EVENT_DYNAMIC_CODE_GENERATED);
    (void)(*env)->GenerateEvents(env, JVMTI_EVENT_COMPILED_METHOD_LOAD);
}

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM *vm, char *options, void *reserved)
{
    static const jvmtiEvent events[] = { JVMTI_EVENT_COMPILED_METHOD_LOAD, JVMTI_EVENT_DYNAMIC_CODE_GENERATED,
                                         JVMTI_EVENT_VM_INIT };
    const jvmtiCapabilities wanted = { .can_generate_compiled_method_load_events = 1 };
    const jvmtiEventCallbacks callbacks = { .CompiledMethodLoad = on_compiled,
                                            .DynamicCodeGenerated = on_generated,
                                            .VMInit = on_start };
    char path[40];
    jvmtiEnv *env;
    (void)options, (void)reserved;
    (void)snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
    map = fopen(path, "w");
    if (!map || (*vm)->GetEnv(vm, (void **)&env, JVMTI_VERSION_1_2) != JNI_OK)
        return JNI_ERR;
    (void)setvbuf(map, NULL, _IOLBF, 0);
    if ((*env)->AddCapabilities(env, &wanted) != JVMTI_ERROR_NONE ||
        (*env)->SetEventCallbacks(env, &callbacks, sizeof callbacks) != JVMTI_ERROR_NONE)
        return JNI_ERR;
    for (unsigned i = 0; i < sizeof events / sizeof *events; i++)
        (void)(*env)->SetEventNotificationMode(env, JVMTI_ENABLE, events[i], NULL);
    return JNI_OK;
}
