/*
 * Modules with their assemblies, and all ids. Knows the order of the callbacks around them; types and functions are
 * types.c's. Lists are read without a lock; one writer at a time holds tube->lock, never in a callback.
 *
 * Source: metadata-abi.md section 10.6 (order of events); ECMA-335 II.25 (PE headers); clr-contract.md section 8.
 */
#include "tube.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static const char core_library[] = "System.Private.CoreLib.dll";

enum { ID_SHIFT = 40, ID_STEP = 64, PAGE = 4096 };

UINT_PTR sw_tube_id(enum sw_tube_kind kind, size_t index)
{
    return ((UINT_PTR)kind << ID_SHIFT) + ID_STEP * ((UINT_PTR)index + 1);
}

size_t sw_tube_index(enum sw_tube_kind kind, UINT_PTR id)
{
    const UINT_PTR offset = id - ((UINT_PTR)kind << ID_SHIFT);
    if (id >> ID_SHIFT != (UINT_PTR)kind || offset == 0 || offset % ID_STEP != 0)
        return SIZE_MAX;
    return (size_t)(offset / ID_STEP - 1);
}

struct sw_tube_module *sw_tube_module_of(const struct sw_tube *tube, ModuleID id)
{
    struct sw_tube_module *module = sw_list_at(&tube->modules, sizeof *module, sw_tube_index(SW_ID_MODULE, id));
    return module && !atomic_load(&module->unloaded) ? module : NULL;
}

struct sw_tube_type *sw_tube_type_of(const struct sw_tube *tube, ClassID id)
{
    struct sw_tube_type *type = sw_list_at(&tube->types, sizeof *type, sw_tube_index(SW_ID_CLASS, id));
    return type && !atomic_load(&type->module->unloaded) ? type : NULL;
}

struct sw_tube_function *sw_tube_function_of(const struct sw_tube *tube, FunctionID id)
{
    struct sw_tube_function *function =
        sw_list_at(&tube->functions, sizeof *function, sw_tube_index(SW_ID_FUNCTION, id));
    return function && !atomic_load(&function->unloaded) ? function : NULL;
}

struct sw_tube_thread *sw_tube_thread_of(const struct sw_tube *tube, ThreadID id)
{
    struct sw_tube_thread *const *thread = sw_list_at(&tube->threads, sizeof *thread, sw_tube_index(SW_ID_THREAD, id));
    return thread && !atomic_load(&(*thread)->ended) ? *thread : NULL;
}

ObjectID sw_tube_object(struct sw_tube_type *type)
{
    struct sw_tube *tube = type->module->tube;
    const size_t index = atomic_fetch_add(&tube->next_object, 1);
    atomic_store(&tube->object_types[index % SW_TUBE_OBJECTS], type->index);
    return sw_tube_id(SW_ID_OBJECT, index);
}

struct sw_tube_type *sw_tube_object_type(const struct sw_tube *tube, ObjectID id)
{
    const size_t index = sw_tube_index(SW_ID_OBJECT, id), next = atomic_load(&tube->next_object);
    if (index >= next || next - index > SW_TUBE_OBJECTS)
        return NULL;
    const size_t type = atomic_load(&tube->object_types[index % SW_TUBE_OBJECTS]);
    return sw_list_at(&tube->types, sizeof(struct sw_tube_type), type);
}

/* The least of a PE file that is one: a profiler may look at what GetModuleInfo gives as the image's base. */
static void write_headers(unsigned char *page, enum sw_machine machine)
{
    enum { PE_AT = 0x40, PE32_PLUS = 0x20b, OPTIONAL_SIZE = 112 };
    const uint16_t number = machine == SW_MACHINE_ARM64 ? 0xaa64 : 0x8664, optional = OPTIONAL_SIZE, magic = PE32_PLUS;
    page[0] = 'M';
    page[1] = 'Z';
    page[0x3c] = PE_AT;
    page[PE_AT] = 'P'; /* and E and two zeros */
    page[PE_AT + 1] = 'E';
    memcpy(page + PE_AT + 4, &number, sizeof number);
    memcpy(page + PE_AT + 20, &optional, sizeof optional);
    memcpy(page + PE_AT + 24, &magic, sizeof magic);
}

static uint64_t make_image(enum sw_machine machine)
{
    void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return 0;
    write_headers(page, machine);
    mprotect(page, PAGE, PROT_READ);
    return (uint64_t)(uintptr_t)page;
}

/* Of the name alone, so that two recordings of one scenario agree. */
static GUID mvid_of(const char *name)
{
    const uint64_t first = sw_hash_key(1, name), second = sw_hash_key(2, name);
    GUID mvid = { (uint32_t)first, (uint16_t)(first >> 32), (uint16_t)(0x4000 | (first >> 52)), { 0 } };
    memcpy(mvid.Data4, &second, sizeof mvid.Data4);
    mvid.Data4[0] = (uint8_t)(0x80 | (mvid.Data4[0] & 0x3f));
    return mvid;
}

static struct sw_tube_module *module_named(struct sw_tube *tube, const char *name)
{
    for (size_t i = 0; i < sw_list_count(&tube->modules); i++) {
        struct sw_tube_module *module = sw_list_at(&tube->modules, sizeof *module, i);
        if (!atomic_load(&module->unloaded) && strcmp(module->name, name) == 0)
            return module;
    }
    return NULL;
}

/* Every module begins with `<Module>`; the core library has what all others need. False: no memory. */
static bool add_first_types(struct sw_tube_module *module)
{
    struct sw_tube *tube = module->tube;
    if (!sw_tube_type_named_locked(module, "<Module>"))
        return false;
    if (strcmp(module->name, core_library) != 0)
        return true;
    const struct sw_tube_type *object = sw_tube_type_named_locked(module, "System.Object");
    const struct sw_tube_type *canon = sw_tube_type_named_locked(module, "System.__Canon");
    if (!object || !canon)
        return false;
    tube->core_object = object->index;
    tube->core_canon = canon->index;
    return true;
}

void sw_tube_assembly_name(const struct sw_tube_module *module, char *text, size_t size)
{
    const char *dot = strrchr(module->name, '.');
    const size_t length = dot && dot != module->name ? (size_t)(dot - module->name) : strlen(module->name);
    (void)snprintf(text, size, "%.*s", (int)length, module->name);
}

static void free_module(struct sw_tube_module *module)
{
    if (module->base)
        munmap((void *)(uintptr_t)module->base, PAGE);
    free(module->name);
    sw_list_free(&module->types);
    sw_list_free(&module->functions);
}

static struct sw_tube_module *add_module(struct sw_tube *tube, const char *name)
{
    struct sw_tube_module *module = sw_list_add(&tube->modules, sizeof *module);
    if (!module)
        return NULL;
    *module = (struct sw_tube_module){ .tube = tube, .index = sw_list_count(&tube->modules), .mvid = mvid_of(name) };
    module->name = strdup(name);
    module->base = make_image(tube->machine);
    if (!module->name || module->base == 0) {
        free_module(module);
        return NULL;
    }
    sw_list_publish(&tube->modules);
    return add_first_types(module) ? module : NULL;
}

static void raise_load(struct sw_tube *tube, struct sw_tube_module *module)
{
    const ModuleID id = sw_tube_module_id(module);
    const AssemblyID assembly = sw_tube_id(SW_ID_ASSEMBLY, module->index);
    SW_RAISE(tube, AssemblyLoadStarted, assembly, assembly);
    SW_RAISE(tube, ModuleLoadStarted, id, id);
    atomic_store(&module->loaded, true);
    SW_RAISE(tube, ModuleLoadFinished, id, id, S_OK);
    SW_RAISE(tube, ModuleAttachedToAssembly, id, id, assembly);
    SW_RAISE(tube, AssemblyLoadFinished, assembly, assembly, S_OK);
}

static enum sw_status check_module(struct sw_tube *tube, const char *name)
{
    if (!name || !*name)
        return sw_tube_problem_set(tube, SW_E_ARGUMENT, "module: a module needs a name");
    if (!atomic_load(&tube->started))
        return sw_tube_problem_set(tube, SW_E_NOT_FOUND, "module: %s: the runtime has not started", name);
    if (module_named(tube, name))
        return sw_tube_problem_set(tube, SW_E_EXISTS, "module: %s is loaded already", name);
    return SW_OK;
}

struct sw_tube_module *sw_tube_module_load(struct sw_tube *tube, const char *name)
{
    if (!tube || check_module(tube, name) != SW_OK)
        return NULL;
    pthread_mutex_lock(&tube->lock);
    struct sw_tube_module *module = add_module(tube, name);
    pthread_mutex_unlock(&tube->lock);
    if (!module) {
        sw_tube_problem_set(tube, SW_E_NO_MEMORY, "module: %s: no memory", name);
        return NULL;
    }
    raise_load(tube, module);
    return module;
}

/* A thread that has a function of the module on its stack; null: none. */
static const struct sw_tube_thread *runs_module(const struct sw_tube_module *module)
{
    const struct sw_tube *tube = module->tube;
    for (size_t i = 0; i < sw_list_count(&tube->threads); i++) {
        struct sw_tube_thread *const *thread = sw_list_at(&tube->threads, sizeof *thread, i);
        for (unsigned at = 0; at < atomic_load(&(*thread)->depth); at++) {
            const struct sw_tube_function *function = (*thread)->frames[at].function;
            if (function && function->type->module == module)
                return *thread;
        }
    }
    return NULL;
}

static void unload_functions(struct sw_tube_module *module)
{
    struct sw_tube *tube = module->tube;
    for (size_t i = 0; i < sw_list_count(&tube->functions); i++) {
        struct sw_tube_function *function = sw_list_at(&tube->functions, sizeof *function, i);
        if (function->type->module != module || atomic_load(&function->unloaded))
            continue;
        if (atomic_load(&function->versions) > 0)
            sw_tube_function_unload(function);
        atomic_store(&function->unloaded, true);
    }
}

static void unload_types(struct sw_tube_module *module)
{
    struct sw_tube *tube = module->tube;
    for (uint32_t row = 1; sw_tube_type_at(module, row); row++) {
        const struct sw_tube_type *type = sw_tube_type_at(module, row);
        const ClassID id = sw_tube_id(SW_ID_CLASS, type->index);
        if (!atomic_load(&type->announced))
            continue;
        SW_RAISE(tube, ClassUnloadStarted, id, id);
        SW_RAISE(tube, ClassUnloadFinished, id, id, S_OK);
    }
}

enum sw_status sw_tube_module_unload(struct sw_tube_module *module)
{
    if (!module)
        return SW_E_ARGUMENT;
    struct sw_tube *tube = module->tube;
    const ModuleID id = sw_tube_module_id(module);
    const AssemblyID assembly = sw_tube_id(SW_ID_ASSEMBLY, module->index);
    const struct sw_tube_thread *thread = runs_module(module);
    if (atomic_load(&module->unloaded))
        return sw_tube_problem_set(tube, SW_E_GONE, "sw_tube_module_unload: %s is not loaded", module->name);
    if (thread)
        return sw_tube_problem_set(tube, SW_E_BUSY, "sw_tube_module_unload: %s is on the stack of thread %s",
                                   module->name, thread->name);
    SW_RAISE(tube, AssemblyUnloadStarted, assembly, assembly);
    SW_RAISE(tube, ModuleUnloadStarted, id, id);
    unload_functions(module);
    unload_types(module);
    atomic_store(&module->loaded, false);
    SW_RAISE(tube, ModuleUnloadFinished, id, id, S_OK);
    SW_RAISE(tube, AssemblyUnloadFinished, assembly, assembly, S_OK);
    atomic_store(&module->unloaded, true);
    return SW_OK;
}

ModuleID sw_tube_module_id(const struct sw_tube_module *module)
{
    return module ? sw_tube_id(SW_ID_MODULE, module->index) : 0;
}

void sw_tube_world_free(struct sw_tube *tube)
{
    for (size_t i = 0; i < sw_list_count(&tube->functions); i++)
        free(((struct sw_tube_function *)sw_list_at(&tube->functions, sizeof(struct sw_tube_function), i))->name);
    for (size_t i = 0; i < sw_list_count(&tube->types); i++)
        free(((struct sw_tube_type *)sw_list_at(&tube->types, sizeof(struct sw_tube_type), i))->full);
    for (size_t i = 0; i < sw_list_count(&tube->modules); i++)
        free_module(sw_list_at(&tube->modules, sizeof(struct sw_tube_module), i));
    sw_list_free(&tube->functions);
    sw_list_free(&tube->types);
    sw_list_free(&tube->modules);
    sw_hash_free(&tube->types_by_name);
    sw_hash_free(&tube->functions_by_name);
}
