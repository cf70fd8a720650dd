// The argument of `use(api)` in "@automerge/automerge/slim". That package declares the types of its members.
import { use } from "@automerge/automerge/slim"

type Api = Parameters<typeof use>[0]

export declare const create: Api["create"]
export declare const load: Api["load"]
export declare const encodeChange: Api["encodeChange"]
export declare const decodeChange: Api["decodeChange"]
export declare const initSyncState: Api["initSyncState"]
export declare const encodeSyncMessage: Api["encodeSyncMessage"]
export declare const decodeSyncMessage: Api["decodeSyncMessage"]
export declare const encodeSyncState: Api["encodeSyncState"]
export declare const decodeSyncState: Api["decodeSyncState"]
export declare const exportSyncState: Api["exportSyncState"]
export declare const importSyncState: Api["importSyncState"]
export declare const readBundle: Api["readBundle"]
export declare const wasmReleaseInfo: Api["wasmReleaseInfo"]

/** In browsers: fetches and starts the module. Node starts it by itself and does not export this. */
export default function init(module?: { module_or_path: URL | Request | Response | BufferSource | WebAssembly.Module }): Promise<unknown>
