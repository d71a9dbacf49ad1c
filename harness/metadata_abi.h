/*
 * The metadata interfaces of a module, as a profiler meets them: names, values and tables. IMetaDataImport's object has
 * the table of IMetaDataImport2, because profilers ask for the first and call the second.
 *
 * Slots are lists as in <snapwalk/corprof.h>; those of enumerations are ENUM(...), and have phEnum in front and
 * pcTokens at the end.
 *
 * Source: metadata-abi.md sections 1 to 5.
 */
#ifndef SW_HARNESS_METADATA_ABI_H
#define SW_HARNESS_METADATA_ABI_H

#include <snapwalk/corprof.h>

typedef void *HCORENUM;
typedef ULONG32 mdTypeRef, mdInterfaceImpl, mdParamDef, mdMemberRef, mdPermission, mdSignature, mdEvent, mdProperty,
    mdModuleRef, mdTypeSpec, mdString, mdCustomAttribute, mdGenericParam, mdGenericParamConstraint, mdMethodSpec,
    mdAssembly, mdAssemblyRef, mdFile, mdExportedType, mdManifestResource;

/* Tables, as the highest byte of a token. */
enum {
    mdtModule = 0x00000000,
    mdtTypeRef = 0x01000000,
    mdtTypeDef = 0x02000000,
    mdtFieldDef = 0x04000000,
    mdtMethodDef = 0x06000000,
    mdtMemberRef = 0x0a000000,
    mdtAssembly = 0x20000000,
    mdtAssemblyRef = 0x23000000,
    mdtExportedType = 0x27000000,
    mdtManifestResource = 0x28000000,
    mdtGenericParam = 0x2a000000,
    mdtString = 0x70000000
};

/* Flags of GetModuleMetaData. */
enum { ofRead = 0, ofWrite = 1, ofNoTransform = 0x1000 };

#define CLDB_S_TRUNCATION          ((HRESULT)0x00131106u)
#define CLDB_E_INDEX_NOTFOUND      ((HRESULT)0x80131124u)
#define CLDB_E_RECORD_NOTFOUND     ((HRESULT)0x80131130u)
#define META_E_INVALID_TOKEN_TYPE  ((HRESULT)0x8013115fu)
#define META_E_BAD_INPUT_PARAMETER ((HRESULT)0x80131193u)

/* clang-format off */
/* slots 3 to 64 */
#define SW_OWN_SLOTS_IMetaDataImport(SLOT, ENUM, Self)                                                                 \
    SLOT(Self, void, CloseEnum, (Self *This, HCORENUM hEnum))                                                          \
    SLOT(Self, HRESULT, CountEnum, (Self *This, HCORENUM hEnum, ULONG *pulCount))                                      \
    SLOT(Self, HRESULT, ResetEnum, (Self *This, HCORENUM hEnum, ULONG ulPos))                                          \
    ENUM(Self, HRESULT, EnumTypeDefs, (Self *This, HCORENUM *phEnum, mdTypeDef rTokens[], ULONG cMax,                  \
         ULONG *pcTokens))                                                                                             \
    ENUM(Self, HRESULT, EnumInterfaceImpls, (Self *This, HCORENUM *phEnum, mdTypeDef td, mdInterfaceImpl rTokens[],    \
         ULONG cMax, ULONG *pcTokens))                                                                                 \
    ENUM(Self, HRESULT, EnumTypeRefs, (Self *This, HCORENUM *phEnum, mdTypeRef rTokens[], ULONG cMax,                  \
         ULONG *pcTokens))                                                                                             \
    SLOT(Self, HRESULT, FindTypeDefByName, (Self *This, const WCHAR *szTypeDef, mdToken tkEnclosingClass,              \
         mdTypeDef *ptd))                                                                                              \
    SLOT(Self, HRESULT, GetScopeProps, (Self *This, WCHAR *szName, ULONG cchName, ULONG *pchName, GUID *pmvid))        \
    SLOT(Self, HRESULT, GetModuleFromScope, (Self *This, mdModule *pmd))                                               \
    SLOT(Self, HRESULT, GetTypeDefProps, (Self *This, mdTypeDef td, WCHAR *szTypeDef, ULONG cchTypeDef,                \
         ULONG *pchTypeDef, DWORD *pdwTypeDefFlags, mdToken *ptkExtends))                                              \
    SLOT(Self, HRESULT, GetInterfaceImplProps, (Self *This, mdInterfaceImpl iiImpl, mdTypeDef *pClass,                 \
         mdToken *ptkIface))                                                                                           \
    SLOT(Self, HRESULT, GetTypeRefProps, (Self *This, mdTypeRef tr, mdToken *ptkResolutionScope, WCHAR *szName,        \
         ULONG cchName, ULONG *pchName))                                                                               \
    SLOT(Self, HRESULT, ResolveTypeRef, (Self *This, mdTypeRef tr, REFIID riid, IUnknown **ppIScope, mdTypeDef *ptd))  \
    ENUM(Self, HRESULT, EnumMembers, (Self *This, HCORENUM *phEnum, mdTypeDef cl, mdToken rTokens[], ULONG cMax,       \
         ULONG *pcTokens))                                                                                             \
    ENUM(Self, HRESULT, EnumMembersWithName, (Self *This, HCORENUM *phEnum, mdTypeDef cl, const WCHAR *szName,         \
         mdToken rTokens[], ULONG cMax, ULONG *pcTokens))                                                              \
    ENUM(Self, HRESULT, EnumMethods, (Self *This, HCORENUM *phEnum, mdTypeDef cl, mdMethodDef rTokens[], ULONG cMax,   \
         ULONG *pcTokens))                                                                                             \
    ENUM(Self, HRESULT, EnumMethodsWithName, (Self *This, HCORENUM *phEnum, mdTypeDef cl, const WCHAR *szName,         \
         mdMethodDef rTokens[], ULONG cMax, ULONG *pcTokens))                                                          \
    ENUM(Self, HRESULT, EnumFields, (Self *This, HCORENUM *phEnum, mdTypeDef cl, mdFieldDef rTokens[], ULONG cMax,     \
         ULONG *pcTokens))                                                                                             \
    ENUM(Self, HRESULT, EnumFieldsWithName, (Self *This, HCORENUM *phEnum, mdTypeDef cl, const WCHAR *szName,          \
         mdFieldDef rTokens[], ULONG cMax, ULONG *pcTokens))                                                           \
    ENUM(Self, HRESULT, EnumParams, (Self *This, HCORENUM *phEnum, mdMethodDef mb, mdParamDef rTokens[], ULONG cMax,   \
         ULONG *pcTokens))                                                                                             \
    ENUM(Self, HRESULT, EnumMemberRefs, (Self *This, HCORENUM *phEnum, mdToken tkParent, mdMemberRef rTokens[],        \
         ULONG cMax, ULONG *pcTokens))                                                                                 \
    ENUM(Self, HRESULT, EnumMethodImpls, (Self *This, HCORENUM *phEnum, mdTypeDef td, mdToken rMethodBody[],           \
         mdToken rMethodDecl[], ULONG cMax, ULONG *pcTokens))                                                          \
    ENUM(Self, HRESULT, EnumPermissionSets, (Self *This, HCORENUM *phEnum, mdToken tk, DWORD dwActions,                \
         mdPermission rTokens[], ULONG cMax, ULONG *pcTokens))                                                         \
    SLOT(Self, HRESULT, FindMember, (Self *This, mdTypeDef td, const WCHAR *szName, const BYTE *pvSigBlob,             \
         ULONG cbSigBlob, mdToken *pmb))                                                                               \
    SLOT(Self, HRESULT, FindMethod, (Self *This, mdTypeDef td, const WCHAR *szName, const BYTE *pvSigBlob,             \
         ULONG cbSigBlob, mdMethodDef *pmb))                                                                           \
    SLOT(Self, HRESULT, FindField, (Self *This, mdTypeDef td, const WCHAR *szName, const BYTE *pvSigBlob,              \
         ULONG cbSigBlob, mdFieldDef *pmb))                                                                            \
    SLOT(Self, HRESULT, FindMemberRef, (Self *This, mdTypeRef td, const WCHAR *szName, const BYTE *pvSigBlob,          \
         ULONG cbSigBlob, mdMemberRef *pmr))                                                                           \
    SLOT(Self, HRESULT, GetMethodProps, (Self *This, mdMethodDef mb, mdTypeDef *pClass, WCHAR *szMethod,               \
         ULONG cchMethod, ULONG *pchMethod, DWORD *pdwAttr, const BYTE **ppvSigBlob, ULONG *pcbSigBlob,                \
         ULONG *pulCodeRVA, DWORD *pdwImplFlags))                                                                      \
    SLOT(Self, HRESULT, GetMemberRefProps, (Self *This, mdMemberRef mr, mdToken *ptk, WCHAR *szMember,                 \
         ULONG cchMember, ULONG *pchMember, const BYTE **ppvSigBlob, ULONG *pbSig))                                    \
    ENUM(Self, HRESULT, EnumProperties, (Self *This, HCORENUM *phEnum, mdTypeDef td, mdProperty rTokens[], ULONG cMax, \
         ULONG *pcTokens))                                                                                             \
    ENUM(Self, HRESULT, EnumEvents, (Self *This, HCORENUM *phEnum, mdTypeDef td, mdEvent rTokens[], ULONG cMax,        \
         ULONG *pcTokens))                                                                                             \
    SLOT(Self, HRESULT, GetEventProps, (Self *This, mdEvent ev, mdTypeDef *pClass, const WCHAR *szEvent,               \
         ULONG cchEvent, ULONG *pchEvent, DWORD *pdwEventFlags, mdToken *ptkEventType, mdMethodDef *pmdAddOn,          \
         mdMethodDef *pmdRemoveOn, mdMethodDef *pmdFire, mdMethodDef rmdOtherMethod[], ULONG cMax,                     \
         ULONG *pcOtherMethod))                                                                                        \
    ENUM(Self, HRESULT, EnumMethodSemantics, (Self *This, HCORENUM *phEnum, mdMethodDef mb, mdToken rTokens[],         \
         ULONG cMax, ULONG *pcTokens))                                                                                 \
    SLOT(Self, HRESULT, GetMethodSemantics, (Self *This, mdMethodDef mb, mdToken tkEventProp,                          \
         DWORD *pdwSemanticsFlags))                                                                                    \
    SLOT(Self, HRESULT, GetClassLayout, (Self *This, mdTypeDef td, DWORD *pdwPackSize,                                 \
         COR_FIELD_OFFSET rFieldOffset[], ULONG cMax, ULONG *pcFieldOffset, ULONG *pulClassSize))                      \
    SLOT(Self, HRESULT, GetFieldMarshal, (Self *This, mdToken tk, const BYTE **ppvNativeType, ULONG *pcbNativeType))   \
    SLOT(Self, HRESULT, GetRVA, (Self *This, mdToken tk, ULONG *pulCodeRVA, DWORD *pdwImplFlags))                      \
    SLOT(Self, HRESULT, GetPermissionSetProps, (Self *This, mdPermission pm, DWORD *pdwAction,                         \
         const void **ppvPermission, ULONG *pcbPermission))                                                            \
    SLOT(Self, HRESULT, GetSigFromToken, (Self *This, mdSignature mdSig, const BYTE **ppvSig, ULONG *pcbSig))          \
    SLOT(Self, HRESULT, GetModuleRefProps, (Self *This, mdModuleRef mur, WCHAR *szName, ULONG cchName,                 \
         ULONG *pchName))                                                                                              \
    ENUM(Self, HRESULT, EnumModuleRefs, (Self *This, HCORENUM *phEnum, mdModuleRef rTokens[], ULONG cMax,              \
         ULONG *pcTokens))                                                                                             \
    SLOT(Self, HRESULT, GetTypeSpecFromToken, (Self *This, mdTypeSpec typespec, const BYTE **ppvSig, ULONG *pcbSig))   \
    SLOT(Self, HRESULT, GetNameFromToken, (Self *This, mdToken tk, const char **pszUtf8NamePtr))                       \
    ENUM(Self, HRESULT, EnumUnresolvedMethods, (Self *This, HCORENUM *phEnum, mdToken rTokens[], ULONG cMax,           \
         ULONG *pcTokens))                                                                                             \
    SLOT(Self, HRESULT, GetUserString, (Self *This, mdString stk, WCHAR *szString, ULONG cchString, ULONG *pchString)) \
    SLOT(Self, HRESULT, GetPinvokeMap, (Self *This, mdToken tk, DWORD *pdwMappingFlags, WCHAR *szImportName,           \
         ULONG cchImportName, ULONG *pchImportName, mdModuleRef *pmrImportDLL))                                        \
    ENUM(Self, HRESULT, EnumSignatures, (Self *This, HCORENUM *phEnum, mdSignature rTokens[], ULONG cMax,              \
         ULONG *pcTokens))                                                                                             \
    ENUM(Self, HRESULT, EnumTypeSpecs, (Self *This, HCORENUM *phEnum, mdTypeSpec rTokens[], ULONG cMax,                \
         ULONG *pcTokens))                                                                                             \
    ENUM(Self, HRESULT, EnumUserStrings, (Self *This, HCORENUM *phEnum, mdString rTokens[], ULONG cMax,                \
         ULONG *pcTokens))                                                                                             \
    SLOT(Self, HRESULT, GetParamForMethodIndex, (Self *This, mdMethodDef md, ULONG ulParamSeq, mdParamDef *ppd))       \
    ENUM(Self, HRESULT, EnumCustomAttributes, (Self *This, HCORENUM *phEnum, mdToken tk, mdToken tkType,               \
         mdCustomAttribute rTokens[], ULONG cMax, ULONG *pcTokens))                                                    \
    SLOT(Self, HRESULT, GetCustomAttributeProps, (Self *This, mdCustomAttribute cv, mdToken *ptkObj, mdToken *ptkType, \
         const void **ppBlob, ULONG *pcbSize))                                                                         \
    SLOT(Self, HRESULT, FindTypeRef, (Self *This, mdToken tkResolutionScope, const WCHAR *szName, mdTypeRef *ptr))     \
    SLOT(Self, HRESULT, GetMemberProps, (Self *This, mdToken mb, mdTypeDef *pClass, WCHAR *szMember, ULONG cchMember,  \
         ULONG *pchMember, DWORD *pdwAttr, const BYTE **ppvSigBlob, ULONG *pcbSigBlob, ULONG *pulCodeRVA,              \
         DWORD *pdwImplFlags, DWORD *pdwCPlusTypeFlag, const void **ppValue, ULONG *pcchValue))                        \
    SLOT(Self, HRESULT, GetFieldProps, (Self *This, mdFieldDef mb, mdTypeDef *pClass, WCHAR *szField, ULONG cchField,  \
         ULONG *pchField, DWORD *pdwAttr, const BYTE **ppvSigBlob, ULONG *pcbSigBlob, DWORD *pdwCPlusTypeFlag,         \
         const void **ppValue, ULONG *pcchValue))                                                                      \
    SLOT(Self, HRESULT, GetPropertyProps, (Self *This, mdProperty prop, mdTypeDef *pClass, const WCHAR *szProperty,    \
         ULONG cchProperty, ULONG *pchProperty, DWORD *pdwPropFlags, const BYTE **ppvSig, ULONG *pbSig,                \
         DWORD *pdwCPlusTypeFlag, const void **ppDefaultValue, ULONG *pcchDefaultValue, mdMethodDef *pmdSetter,        \
         mdMethodDef *pmdGetter, mdMethodDef rmdOtherMethod[], ULONG cMax, ULONG *pcOtherMethod))                      \
    SLOT(Self, HRESULT, GetParamProps, (Self *This, mdParamDef tk, mdMethodDef *pmd, ULONG *pulSequence,               \
         WCHAR *szName, ULONG cchName, ULONG *pchName, DWORD *pdwAttr, DWORD *pdwCPlusTypeFlag, const void **ppValue,  \
         ULONG *pcchValue))                                                                                            \
    SLOT(Self, HRESULT, GetCustomAttributeByName, (Self *This, mdToken tkObj, const WCHAR *szName,                     \
         const void **ppData, ULONG *pcbData))                                                                         \
    SLOT(Self, BOOL, IsValidToken, (Self *This, mdToken tk))                                                           \
    SLOT(Self, HRESULT, GetNestedClassProps, (Self *This, mdTypeDef tdNestedClass, mdTypeDef *ptdEnclosingClass))      \
    SLOT(Self, HRESULT, GetNativeCallConvFromSig, (Self *This, const void *pvSig, ULONG cbSig, ULONG *pCallConv))      \
    SLOT(Self, HRESULT, IsGlobal, (Self *This, mdToken pd, int *pbGlobal))

/* slots 65 to 72 */
#define SW_OWN_SLOTS_IMetaDataImport2(SLOT, ENUM, Self)                                                               \
    ENUM(Self, HRESULT, EnumGenericParams, (Self *This, HCORENUM *phEnum, mdToken tk, mdGenericParam rTokens[],       \
         ULONG cMax, ULONG *pcTokens))                                                                                \
    SLOT(Self, HRESULT, GetGenericParamProps, (Self *This, mdGenericParam gp, ULONG *pulParamSeq,                     \
         DWORD *pdwParamFlags, mdToken *ptOwner, DWORD *reserved, WCHAR *wzname, ULONG cchName, ULONG *pchName))      \
    SLOT(Self, HRESULT, GetMethodSpecProps, (Self *This, mdMethodSpec mi, mdToken *tkParent, const BYTE **ppvSigBlob, \
         ULONG *pcbSigBlob))                                                                                          \
    ENUM(Self, HRESULT, EnumGenericParamConstraints, (Self *This, HCORENUM *phEnum, mdGenericParam tk,                \
         mdGenericParamConstraint rTokens[], ULONG cMax, ULONG *pcTokens))                                            \
    SLOT(Self, HRESULT, GetGenericParamConstraintProps, (Self *This, mdGenericParamConstraint gpc,                    \
         mdGenericParam *ptGenericParam, mdToken *ptkConstraintType))                                                 \
    SLOT(Self, HRESULT, GetPEKind, (Self *This, DWORD *pdwPEKind, DWORD *pdwMachine))                                 \
    SLOT(Self, HRESULT, GetVersionString, (Self *This, WCHAR *pwzBuf, DWORD ccBufSize, DWORD *pccBufSize))            \
    ENUM(Self, HRESULT, EnumMethodSpecs, (Self *This, HCORENUM *phEnum, mdToken tk, mdMethodSpec rTokens[],           \
         ULONG cMax, ULONG *pcTokens))

/* slots 3 to 16 */
#define SW_OWN_SLOTS_IMetaDataAssemblyImport(SLOT, ENUM, Self)                                                         \
    SLOT(Self, HRESULT, GetAssemblyProps, (Self *This, mdAssembly mda, const void **ppbPublicKey, ULONG *pcbPublicKey, \
         ULONG *pulHashAlgId, WCHAR *szName, ULONG cchName, ULONG *pchName, ASSEMBLYMETADATA *pMetaData,               \
         DWORD *pdwAssemblyFlags))                                                                                     \
    SLOT(Self, HRESULT, GetAssemblyRefProps, (Self *This, mdAssemblyRef mdar, const void **ppbPublicKeyOrToken,        \
         ULONG *pcbPublicKeyOrToken, WCHAR *szName, ULONG cchName, ULONG *pchName, ASSEMBLYMETADATA *pMetaData,        \
         const void **ppbHashValue, ULONG *pcbHashValue, DWORD *pdwAssemblyRefFlags))                                  \
    SLOT(Self, HRESULT, GetFileProps, (Self *This, mdFile mdf, WCHAR *szName, ULONG cchName, ULONG *pchName,           \
         const void **ppbHashValue, ULONG *pcbHashValue, DWORD *pdwFileFlags))                                         \
    SLOT(Self, HRESULT, GetExportedTypeProps, (Self *This, mdExportedType mdct, WCHAR *szName, ULONG cchName,          \
         ULONG *pchName, mdToken *ptkImplementation, mdTypeDef *ptkTypeDef, DWORD *pdwExportedTypeFlags))              \
    SLOT(Self, HRESULT, GetManifestResourceProps, (Self *This, mdManifestResource mdmr, WCHAR *szName, ULONG cchName,  \
         ULONG *pchName, mdToken *ptkImplementation, DWORD *pdwOffset, DWORD *pdwResourceFlags))                       \
    ENUM(Self, HRESULT, EnumAssemblyRefs, (Self *This, HCORENUM *phEnum, mdAssemblyRef rTokens[], ULONG cMax,          \
         ULONG *pcTokens))                                                                                             \
    ENUM(Self, HRESULT, EnumFiles, (Self *This, HCORENUM *phEnum, mdFile rTokens[], ULONG cMax, ULONG *pcTokens))      \
    ENUM(Self, HRESULT, EnumExportedTypes, (Self *This, HCORENUM *phEnum, mdExportedType rTokens[], ULONG cMax,        \
         ULONG *pcTokens))                                                                                             \
    ENUM(Self, HRESULT, EnumManifestResources, (Self *This, HCORENUM *phEnum, mdManifestResource rTokens[],            \
         ULONG cMax, ULONG *pcTokens))                                                                                 \
    SLOT(Self, HRESULT, GetAssemblyFromScope, (Self *This, mdAssembly *ptkAssembly))                                   \
    SLOT(Self, HRESULT, FindExportedTypeByName, (Self *This, const WCHAR *szName, mdToken mdtEnclosing,             \
         mdExportedType *ptkExportedType))                                                                             \
    SLOT(Self, HRESULT, FindManifestResourceByName, (Self *This, const WCHAR *szName,                                  \
         mdManifestResource *ptkManifestResource))                                                                     \
    SLOT(Self, void, CloseEnum, (Self *This, HCORENUM hEnum))                                                          \
    SLOT(Self, HRESULT, FindAssembliesByName, (Self *This, const WCHAR *szAppBase, const WCHAR *szPrivateBin,          \
         const WCHAR *szAssemblyName, IUnknown *ppIUnk[], ULONG cMax, ULONG *pcAssemblies))
/* clang-format on */

#define SW_METADATA_INTERFACE(Name, slots, list)                                                                       \
    struct Name {                                                                                                      \
        const struct Name##Vtbl *lpVtbl;                                                                               \
    };                                                                                                                 \
    struct Name##Vtbl {                                                                                                \
        SW_SLOTS_IUnknown(SW_COM_SLOT, Name) list                                                                      \
    };                                                                                                                 \
    _Static_assert(sizeof(struct Name##Vtbl) == (slots) * sizeof(void *), "slots of " #Name)

#define SW_SLOTS_IMetaDataImport2(SLOT, ENUM, Self)                                                                    \
    SW_OWN_SLOTS_IMetaDataImport(SLOT, ENUM, Self) SW_OWN_SLOTS_IMetaDataImport2(SLOT, ENUM, Self)

typedef struct IMetaDataImport2 IMetaDataImport2;
typedef struct IMetaDataAssemblyImport IMetaDataAssemblyImport;
SW_METADATA_INTERFACE(IMetaDataImport2, 73, SW_SLOTS_IMetaDataImport2(SW_COM_SLOT, SW_COM_SLOT, IMetaDataImport2));
SW_METADATA_INTERFACE(IMetaDataAssemblyImport, 17,
                      SW_OWN_SLOTS_IMetaDataAssemblyImport(SW_COM_SLOT, SW_COM_SLOT, IMetaDataAssemblyImport));

/* clang-format off */
static const IID IID_IMetaDataImport =
    { 0x7dac8207, 0xd3ae, 0x4c75, { 0x9b, 0x67, 0x92, 0x80, 0x1a, 0x49, 0x7d, 0x44 } };
static const IID IID_IMetaDataImport2 =
    { 0xfce5efa0, 0x8bba, 0x4f8e, { 0xa0, 0x36, 0x8f, 0x20, 0x22, 0xb0, 0x84, 0x66 } };
static const IID IID_IMetaDataAssemblyImport =
    { 0xee62470b, 0xe94b, 0x424e, { 0x9b, 0x7c, 0x2f, 0x00, 0xc9, 0x24, 0x9f, 0x93 } };
static const IID IID_IMetaDataTables =
    { 0xd8f579ab, 0x402d, 0x4b8e, { 0x82, 0xd9, 0x5d, 0x63, 0xb1, 0x06, 0x5c, 0x68 } };
static const IID IID_IMetaDataTables2 =
    { 0xbadb5f70, 0x58da, 0x43a9, { 0xa1, 0xc6, 0xd7, 0x48, 0x19, 0xf1, 0x9b, 0x15 } };
static const IID IID_IMetaDataInfo =
    { 0x7998ea64, 0x7f95, 0x48b8, { 0x86, 0xfc, 0x17, 0xca, 0xf4, 0x8b, 0xf5, 0xcb } };
static const IID IID_IMetaDataEmit =
    { 0xba3fee4c, 0xecb9, 0x4e41, { 0x83, 0xb7, 0x18, 0x3f, 0xa4, 0x1c, 0xd8, 0x59 } };
static const IID IID_IMetaDataEmit2 =
    { 0xf5dd9950, 0xf693, 0x42e6, { 0x83, 0x0e, 0x7b, 0x83, 0x3e, 0x81, 0x46, 0xa9 } };
static const IID IID_IMetaDataAssemblyEmit =
    { 0x211ef15b, 0x5317, 0x4438, { 0xb1, 0x96, 0xde, 0xc8, 0x7b, 0x88, 0x76, 0x93 } };
static const IID IID_IMetaDataFilter =
    { 0xd0e80dd1, 0x12d4, 0x11d3, { 0xb3, 0x9d, 0x00, 0xc0, 0x4f, 0xf8, 0x17, 0x95 } };
/* clang-format on */

#endif
