/*
 * What the arguments of ICorProfilerInfo's methods are, for the recording, for what is said of ids, and for outputs
 * that have to be cleared. SW_ARGS_<method>(A) is A(kind, name) for each:
 *
 *   THREAD, FUNCTION, MODULE, CLASS, OBJECT, ASSEMBLY, DOMAIN   an id of the tube
 *   NUMBER, TEXT, GUID        a number, a name, an interface's id
 *   POINTER, RECORD           what is handed in and not looked at
 *   OUT, OUT_ID, OUT_POINTER  where a number, an id, an address, an object or what differs from run to run goes
 *   BUFFER, ARRAY             the same of many; the third argument is the capacity
 *
 * Source: corprof-abi.md section 7.1.
 */
#ifndef SW_HARNESS_INFO_SLOTS_H
#define SW_HARNESS_INFO_SLOTS_H

/* clang-format off */
/* ICorProfilerInfo */
#define SW_ARGS_GetClassFromObject(A) A(OBJECT, objectId) A(OUT_ID, pClassId)
#define SW_ARGS_GetClassFromToken(A) A(MODULE, moduleId) A(NUMBER, typeDef) A(OUT_ID, pClassId)
#define SW_ARGS_GetCodeInfo(A) A(FUNCTION, functionId) A(OUT_POINTER, pStart) A(OUT, pcSize)
#define SW_ARGS_GetEventMask(A) A(OUT, pdwEvents)
#define SW_ARGS_GetFunctionFromIP(A) A(POINTER, ip) A(OUT_ID, pFunctionId)
#define SW_ARGS_GetFunctionFromToken(A) A(MODULE, moduleId) A(NUMBER, token) A(OUT_ID, pFunctionId)
#define SW_ARGS_GetHandleFromThread(A) A(THREAD, threadId) A(OUT_POINTER, phThread)
#define SW_ARGS_GetObjectSize(A) A(OBJECT, objectId) A(OUT, pcSize)
#define SW_ARGS_IsArrayClass(A) A(CLASS, classId) A(OUT, pBaseElemType) A(OUT_ID, pBaseClassId) A(OUT, pcRank)
#define SW_ARGS_GetThreadInfo(A) A(THREAD, threadId) A(OUT_POINTER, pdwWin32ThreadId)
#define SW_ARGS_GetCurrentThreadID(A) A(OUT_ID, pThreadId)
#define SW_ARGS_GetClassIDInfo(A) A(CLASS, classId) A(OUT_ID, pModuleId) A(OUT, pTypeDefToken)
#define SW_ARGS_GetFunctionInfo(A) A(FUNCTION, functionId) A(OUT_ID, pClassId) A(OUT_ID, pModuleId) A(OUT, pToken)
#define SW_ARGS_SetEventMask(A) A(NUMBER, dwEvents)
#define SW_ARGS_SetEnterLeaveFunctionHooks(A) A(POINTER, pFuncEnter) A(POINTER, pFuncLeave)                            \
    A(POINTER, pFuncTailcall)
#define SW_ARGS_SetFunctionIDMapper(A) A(POINTER, pFunc)
#define SW_ARGS_GetTokenAndMetaDataFromFunction(A) A(FUNCTION, functionId) A(GUID, riid) A(OUT_POINTER, ppImport)      \
    A(OUT, pToken)
#define SW_ARGS_GetModuleInfo(A) A(MODULE, moduleId) A(OUT_POINTER, ppBaseLoadAddress) A(NUMBER, cchName)              \
    A(OUT, pcchName) A(BUFFER, szName, cchName) A(OUT_ID, pAssemblyId)
#define SW_ARGS_GetModuleMetaData(A) A(MODULE, moduleId) A(NUMBER, dwOpenFlags) A(GUID, riid) A(OUT_POINTER, ppOut)
#define SW_ARGS_GetILFunctionBody(A) A(MODULE, moduleId) A(NUMBER, methodId) A(OUT_POINTER, ppMethodHeader)            \
    A(OUT, pcbMethodSize)
#define SW_ARGS_GetILFunctionBodyAllocator(A) A(MODULE, moduleId) A(OUT_POINTER, ppMalloc)
#define SW_ARGS_SetILFunctionBody(A) A(MODULE, moduleId) A(NUMBER, methodid) A(POINTER, pbNewILMethodHeader)
#define SW_ARGS_GetAppDomainInfo(A) A(DOMAIN, appDomainId) A(NUMBER, cchName) A(OUT, pcchName)                         \
    A(BUFFER, szName, cchName) A(OUT_POINTER, pProcessId)
#define SW_ARGS_GetAssemblyInfo(A) A(ASSEMBLY, assemblyId) A(NUMBER, cchName) A(OUT, pcchName)                         \
    A(BUFFER, szName, cchName) A(OUT_ID, pAppDomainId) A(OUT_ID, pModuleId)
#define SW_ARGS_SetFunctionReJIT(A) A(FUNCTION, functionId)
#define SW_ARGS_ForceGC(A)
#define SW_ARGS_SetILInstrumentedCodeMap(A) A(FUNCTION, functionId) A(NUMBER, fStartJit) A(NUMBER, cILMapEntries)      \
    A(POINTER, rgILMapEntries)
#define SW_ARGS_GetInprocInspectionInterface(A) A(OUT_POINTER, ppicd)
#define SW_ARGS_GetInprocInspectionIThisThread(A) A(OUT_POINTER, ppicd)
#define SW_ARGS_GetThreadContext(A) A(THREAD, threadId) A(OUT, pContextId)
#define SW_ARGS_BeginInprocDebugging(A) A(NUMBER, fThisThreadOnly) A(OUT, pdwProfilerContext)
#define SW_ARGS_EndInprocDebugging(A) A(NUMBER, dwProfilerContext)
#define SW_ARGS_GetILToNativeMapping(A) A(FUNCTION, functionId) A(NUMBER, cMap) A(OUT, pcMap) A(ARRAY, map, cMap)

/* ICorProfilerInfo2 */
#define SW_ARGS_DoStackSnapshot(A) A(THREAD, thread) A(POINTER, callback) A(NUMBER, infoFlags)                         \
    A(POINTER, clientData) A(POINTER, context) A(NUMBER, contextSize)
#define SW_ARGS_SetEnterLeaveFunctionHooks2(A) A(POINTER, pFuncEnter) A(POINTER, pFuncLeave)                           \
    A(POINTER, pFuncTailcall)
#define SW_ARGS_GetFunctionInfo2(A) A(FUNCTION, funcId) A(POINTER, frameInfo) A(OUT_ID, pClassId)                      \
    A(OUT_ID, pModuleId) A(OUT, pToken) A(NUMBER, cTypeArgs) A(OUT, pcTypeArgs) A(ARRAY, typeArgs, cTypeArgs)
#define SW_ARGS_GetStringLayout(A) A(OUT, pBufferLengthOffset) A(OUT, pStringLengthOffset) A(OUT, pBufferOffset)
#define SW_ARGS_GetClassLayout(A) A(CLASS, classID) A(ARRAY, rFieldOffset, cFieldOffset) A(NUMBER, cFieldOffset)       \
    A(OUT, pcFieldOffset) A(OUT, pulClassSize)
#define SW_ARGS_GetClassIDInfo2(A) A(CLASS, classId) A(OUT_ID, pModuleId) A(OUT, pTypeDefToken)                        \
    A(OUT_ID, pParentClassId) A(NUMBER, cNumTypeArgs) A(OUT, pcNumTypeArgs) A(ARRAY, typeArgs, cNumTypeArgs)
#define SW_ARGS_GetCodeInfo2(A) A(FUNCTION, functionID) A(NUMBER, cCodeInfos) A(OUT, pcCodeInfos)                      \
    A(ARRAY, codeInfos, cCodeInfos)
#define SW_ARGS_GetClassFromTokenAndTypeArgs(A) A(MODULE, moduleID) A(NUMBER, typeDef) A(NUMBER, cTypeArgs)            \
    A(POINTER, typeArgs) A(OUT_ID, pClassID)
#define SW_ARGS_GetFunctionFromTokenAndTypeArgs(A) A(MODULE, moduleID) A(NUMBER, funcDef) A(CLASS, classId)            \
    A(NUMBER, cTypeArgs) A(POINTER, typeArgs) A(OUT_ID, pFunctionID)
#define SW_ARGS_EnumModuleFrozenObjects(A) A(MODULE, moduleID) A(OUT_POINTER, ppEnum)
#define SW_ARGS_GetArrayObjectInfo(A) A(OBJECT, objectId) A(NUMBER, cDimensions)                                       \
    A(ARRAY, pDimensionSizes, cDimensions) A(ARRAY, pDimensionLowerBounds, cDimensions) A(OUT_POINTER, ppData)
#define SW_ARGS_GetBoxClassLayout(A) A(CLASS, classId) A(OUT, pBufferOffset)
#define SW_ARGS_GetThreadAppDomain(A) A(THREAD, threadId) A(OUT_ID, pAppDomainId)
#define SW_ARGS_GetRVAStaticAddress(A) A(CLASS, classId) A(NUMBER, fieldToken) A(OUT_POINTER, ppAddress)
#define SW_ARGS_GetAppDomainStaticAddress(A) A(CLASS, classId) A(NUMBER, fieldToken) A(DOMAIN, appDomainId)            \
    A(OUT_POINTER, ppAddress)
#define SW_ARGS_GetThreadStaticAddress(A) A(CLASS, classId) A(NUMBER, fieldToken) A(THREAD, threadId)                  \
    A(OUT_POINTER, ppAddress)
#define SW_ARGS_GetContextStaticAddress(A) A(CLASS, classId) A(NUMBER, fieldToken) A(NUMBER, contextId)                \
    A(OUT_POINTER, ppAddress)
#define SW_ARGS_GetStaticFieldInfo(A) A(CLASS, classId) A(NUMBER, fieldToken) A(OUT, pFieldInfo)
#define SW_ARGS_GetGenerationBounds(A) A(NUMBER, cObjectRanges) A(OUT, pcObjectRanges)                                 \
    A(ARRAY, ranges, cObjectRanges)
#define SW_ARGS_GetObjectGeneration(A) A(OBJECT, objectId) A(OUT, range)
#define SW_ARGS_GetNotifiedExceptionClauseInfo(A) A(OUT, pinfo)

/* ICorProfilerInfo3 */
#define SW_ARGS_EnumJITedFunctions(A) A(OUT_POINTER, ppEnum)
#define SW_ARGS_RequestProfilerDetach(A) A(NUMBER, dwExpectedCompletionMilliseconds)
#define SW_ARGS_SetFunctionIDMapper2(A) A(POINTER, pFunc) A(POINTER, clientData)
#define SW_ARGS_GetStringLayout2(A) A(OUT, pStringLengthOffset) A(OUT, pBufferOffset)
#define SW_ARGS_SetEnterLeaveFunctionHooks3(A) A(POINTER, pFuncEnter3) A(POINTER, pFuncLeave3)                         \
    A(POINTER, pFuncTailcall3)
#define SW_ARGS_SetEnterLeaveFunctionHooks3WithInfo(A) A(POINTER, pFuncEnter3WithInfo)                                 \
    A(POINTER, pFuncLeave3WithInfo) A(POINTER, pFuncTailcall3WithInfo)
#define SW_ARGS_GetFunctionEnter3Info(A) A(FUNCTION, functionId) A(POINTER, eltInfo) A(OUT_POINTER, pFrameInfo)                \
    A(OUT, pcbArgumentInfo) A(OUT, pArgumentInfo)
#define SW_ARGS_GetFunctionLeave3Info(A) A(FUNCTION, functionId) A(POINTER, eltInfo) A(OUT_POINTER, pFrameInfo)                \
    A(OUT, pRetvalRange)
#define SW_ARGS_GetFunctionTailcall3Info(A) A(FUNCTION, functionId) A(POINTER, eltInfo) A(OUT_POINTER, pFrameInfo)
#define SW_ARGS_EnumModules(A) A(OUT_POINTER, ppEnum)
#define SW_ARGS_GetRuntimeInformation(A) A(OUT, pClrInstanceId) A(OUT, pRuntimeType) A(OUT, pMajorVersion)             \
    A(OUT, pMinorVersion) A(OUT, pBuildNumber) A(OUT, pQFEVersion) A(NUMBER, cchVersionString)                         \
    A(OUT, pcchVersionString) A(BUFFER, szVersionString, cchVersionString)
#define SW_ARGS_GetThreadStaticAddress2(A) A(CLASS, classId) A(NUMBER, fieldToken) A(DOMAIN, appDomainId)              \
    A(THREAD, threadId) A(OUT_POINTER, ppAddress)
#define SW_ARGS_GetAppDomainsContainingModule(A) A(MODULE, moduleId) A(NUMBER, cAppDomainIds) A(OUT, pcAppDomainIds)   \
    A(ARRAY, appDomainIds, cAppDomainIds)
#define SW_ARGS_GetModuleInfo2(A) A(MODULE, moduleId) A(OUT_POINTER, ppBaseLoadAddress) A(NUMBER, cchName)             \
    A(OUT, pcchName) A(BUFFER, szName, cchName) A(OUT_ID, pAssemblyId) A(OUT, pdwModuleFlags)

/* ICorProfilerInfo4 */
#define SW_ARGS_EnumThreads(A) A(OUT_POINTER, ppEnum)
#define SW_ARGS_InitializeCurrentThread(A)
#define SW_ARGS_RequestReJIT(A) A(NUMBER, cFunctions) A(POINTER, moduleIds) A(POINTER, methodIds)
#define SW_ARGS_RequestRevert(A) A(NUMBER, cFunctions) A(POINTER, moduleIds) A(POINTER, methodIds)                     \
    A(ARRAY, status, cFunctions)
#define SW_ARGS_GetCodeInfo3(A) A(FUNCTION, functionID) A(NUMBER, reJitId) A(NUMBER, cCodeInfos) A(OUT, pcCodeInfos)   \
    A(ARRAY, codeInfos, cCodeInfos)
#define SW_ARGS_GetFunctionFromIP2(A) A(POINTER, ip) A(OUT_ID, pFunctionId) A(OUT, pReJitId)
#define SW_ARGS_GetReJITIDs(A) A(FUNCTION, functionId) A(NUMBER, cReJitIds) A(OUT, pcReJitIds)                         \
    A(ARRAY, reJitIds, cReJitIds)
#define SW_ARGS_GetILToNativeMapping2(A) A(FUNCTION, functionId) A(NUMBER, reJitId) A(NUMBER, cMap) A(OUT, pcMap)      \
    A(ARRAY, map, cMap)
#define SW_ARGS_EnumJITedFunctions2(A) A(OUT_POINTER, ppEnum)
#define SW_ARGS_GetObjectSize2(A) A(OBJECT, objectId) A(OUT, pcSize)

/* ICorProfilerInfo5 */
#define SW_ARGS_GetEventMask2(A) A(OUT, pdwEventsLow) A(OUT, pdwEventsHigh)
#define SW_ARGS_SetEventMask2(A) A(NUMBER, dwEventsLow) A(NUMBER, dwEventsHigh)

/* ICorProfilerInfo6 */
#define SW_ARGS_EnumNgenModuleMethodsInliningThisMethod(A) A(MODULE, inlinersModuleId) A(MODULE, inlineeModuleId)      \
    A(NUMBER, inlineeMethodId) A(OUT, incompleteData) A(OUT_POINTER, ppEnum)

/* ICorProfilerInfo7 */
#define SW_ARGS_ApplyMetaData(A) A(MODULE, moduleId)
#define SW_ARGS_GetInMemorySymbolsLength(A) A(MODULE, moduleId) A(OUT, pCountSymbolBytes)
#define SW_ARGS_ReadInMemorySymbols(A) A(MODULE, moduleId) A(NUMBER, symbolsReadOffset) A(POINTER, pSymbolBytes)       \
    A(NUMBER, countSymbolBytes) A(OUT, pCountSymbolBytesRead)

/* ICorProfilerInfo8 */
#define SW_ARGS_IsFunctionDynamic(A) A(FUNCTION, functionId) A(OUT, isDynamic)
#define SW_ARGS_GetFunctionFromIP3(A) A(POINTER, ip) A(OUT_ID, functionId) A(OUT, pReJitId)
#define SW_ARGS_GetDynamicFunctionInfo(A) A(FUNCTION, functionId) A(OUT_ID, moduleId) A(OUT_POINTER, ppvSig)           \
    A(OUT, pbSig) A(NUMBER, cchName) A(OUT, pcchName) A(BUFFER, wszName, cchName)

/* ICorProfilerInfo9 */
#define SW_ARGS_GetNativeCodeStartAddresses(A) A(FUNCTION, functionID) A(NUMBER, reJitId)                              \
    A(NUMBER, cCodeStartAddresses) A(OUT, pcCodeStartAddresses) A(ARRAY, codeStartAddresses, cCodeStartAddresses)
#define SW_ARGS_GetILToNativeMapping3(A) A(POINTER, pNativeCodeStartAddress) A(NUMBER, cMap) A(OUT, pcMap)             \
    A(ARRAY, map, cMap)
#define SW_ARGS_GetCodeInfo4(A) A(POINTER, pNativeCodeStartAddress) A(NUMBER, cCodeInfos) A(OUT, pcCodeInfos)          \
    A(ARRAY, codeInfos, cCodeInfos)

/* ICorProfilerInfo10 */
#define SW_ARGS_EnumerateObjectReferences(A) A(OBJECT, objectId) A(POINTER, callback) A(POINTER, clientData)
#define SW_ARGS_IsFrozenObject(A) A(OBJECT, objectId) A(OUT, pbFrozen)
#define SW_ARGS_GetLOHObjectSizeThreshold(A) A(OUT, pThreshold)
#define SW_ARGS_RequestReJITWithInliners(A) A(NUMBER, dwRejitFlags) A(NUMBER, cFunctions) A(POINTER, moduleIds)        \
    A(POINTER, methodIds)
#define SW_ARGS_SuspendRuntime(A)
#define SW_ARGS_ResumeRuntime(A)

/* ICorProfilerInfo11 */
#define SW_ARGS_GetEnvironmentVariable(A) A(TEXT, szName) A(NUMBER, cchValue) A(OUT, pcchValue)                        \
    A(BUFFER, szValue, cchValue)
#define SW_ARGS_SetEnvironmentVariable(A) A(TEXT, szName) A(TEXT, szValue)

/* ICorProfilerInfo12 */
#define SW_ARGS_EventPipeStartSession(A) A(NUMBER, cProviderConfigs) A(POINTER, pProviderConfigs)                      \
    A(NUMBER, requestRundown) A(OUT, pSession)
#define SW_ARGS_EventPipeAddProviderToSession(A) A(NUMBER, session) A(RECORD, providerConfig)
#define SW_ARGS_EventPipeStopSession(A) A(NUMBER, session)
#define SW_ARGS_EventPipeCreateProvider(A) A(TEXT, providerName) A(OUT, pProvider)
#define SW_ARGS_EventPipeGetProviderInfo(A) A(POINTER, provider) A(NUMBER, cchName) A(OUT, pcchName)                   \
    A(BUFFER, providerName, cchName)
#define SW_ARGS_EventPipeDefineEvent(A) A(POINTER, provider) A(TEXT, eventName) A(NUMBER, eventID)                     \
    A(NUMBER, keywords) A(NUMBER, eventVersion) A(NUMBER, level) A(NUMBER, opcode) A(NUMBER, needStack)                \
    A(NUMBER, cParamDescs) A(POINTER, pParamDescs) A(OUT, pEvent)
#define SW_ARGS_EventPipeWriteEvent(A) A(POINTER, event) A(NUMBER, cData) A(POINTER, data) A(POINTER, pActivityId)     \
    A(POINTER, pRelatedActivityId)

/* ICorProfilerInfo13 */
#define SW_ARGS_CreateHandle(A) A(OBJECT, object) A(NUMBER, type) A(OUT_POINTER, pHandle)
#define SW_ARGS_DestroyHandle(A) A(POINTER, handle)
#define SW_ARGS_GetObjectIDFromHandle(A) A(POINTER, handle) A(OUT_ID, pObject)

/* ICorProfilerInfo14 */
#define SW_ARGS_EnumerateNonGCObjects(A) A(OUT_POINTER, ppEnum)
#define SW_ARGS_GetNonGCHeapBounds(A) A(NUMBER, cObjectRanges) A(OUT, pcObjectRanges)                                  \
    A(ARRAY, ranges, cObjectRanges)
#define SW_ARGS_EventPipeCreateProvider2(A) A(TEXT, providerName) A(POINTER, pCallback) A(OUT, pProvider)

/* ICorProfilerInfo15 */
#define SW_ARGS_EnumerateGCHeapObjects(A) A(POINTER, callback) A(POINTER, callbackState)
/* clang-format on */

#endif
