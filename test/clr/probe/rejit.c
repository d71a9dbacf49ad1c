/*
 * ReJIT: methods that were compiled are requested to be compiled again, one at a time, with the IL that they have. A
 * thread asks; callbacks only note candidates.
 */
#include "probe.h"

#include <pthread.h>
#include <stdlib.h>

enum { CANDIDATES = 512 };

static struct candidate {
    ModuleID module;
    mdMethodDef method;
} candidates[CANDIDATES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned noted;
static _Atomic uint64_t requests, finished;

void note_candidate(FunctionID function)
{
    ClassID unwanted;
    ModuleID module;
    mdToken token;
    LPCBYTE base;
    AssemblyID assembly;
    DWORD flags = 0;
    if (info->lpVtbl->GetFunctionInfo(info, function, &unwanted, &module, &token) != S_OK || token == 0 ||
        info->lpVtbl->GetModuleInfo2(info, module, &base, 0, NULL, NULL, &assembly, &flags) != S_OK ||
        (flags & (COR_PRF_MODULE_COLLECTIBLE | COR_PRF_MODULE_DYNAMIC)) != 0)
        return; /* a module that may go: the runtime does not check that it is still there */
    pthread_mutex_lock(&lock);
    candidates[noted++ % CANDIDATES] = (struct candidate){ module, token };
    pthread_mutex_unlock(&lock);
}

void request_rejit(void)
{
    pthread_mutex_lock(&lock);
    const unsigned count = noted < CANDIDATES ? noted : CANDIDATES;
    struct candidate one = count ? candidates[(unsigned)rand() % count] : (struct candidate){ 0 };
    pthread_mutex_unlock(&lock);
    if (count && info->lpVtbl->RequestReJIT(info, 1, &one.module, &one.method) == S_OK)
        atomic_fetch_add(&requests, 1);
}

void count_rejit(void)
{
    atomic_fetch_add(&finished, 1);
}

void print_rejits(void)
{
    fprintf(report, "  %llu methods were asked to be compiled again, %llu were\n",
            (unsigned long long)atomic_load(&requests), (unsigned long long)atomic_load(&finished));
}
