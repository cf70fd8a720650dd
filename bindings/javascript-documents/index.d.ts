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

/** A change of another user's presence. `other`: the payload is no presence, but a message of the program. */
export type PresenceEvent =
  | { type: "updated"; peer: string; channels: string[]; isNew: boolean }
  | { type: "left"; peer: string }
  | { type: "other" }

/** The presence of another user: the values of its channels, and the times of its last message and of the last one but heartbeats. */
export type PeerPresence = { channels: Record<string, unknown>; lastSeen: number; lastActive: number }

/**
 * What each user of a document shows the others, such as a cursor: a map from channels to values, never stored. Exchanges the payloads
 * of automerge-repo's `Presence`, with programs in every language.
 *
 * The program sends and receives the payloads, and passes the time: milliseconds since any fixed start, as of `performance.now()`. Times
 * that go back count as the latest one. Values are those of documents: plain objects, arrays, strings, numbers, truth values, null, dates,
 * bytes and `BigInt`s. Of others, at most 4096 users and 16 MiB are remembered, of which the channels of a user take at most 64 KiB.
 */
export declare class Presence {
  /** A heartbeat is sent after `heartbeatMs` without another payload, and a user is forgotten after `expiryMs` without one: 15 and 45 s. */
  constructor(options?: { channels?: Record<string, unknown>; heartbeatMs?: number; expiryMs?: number })
  /** Sets a channel of this user. Until it is sent, a later value replaces it. */
  set(channel: string, value: unknown): void
  /** The channels of this user, as others see them. */
  readonly ours: Record<string, unknown>
  /**
   * The next payload to send to all users of the document. To be called until it is null: after `set`, `receive`, `leave` and
   * `reconnect`, and at `nextDeadline()`.
   */
  nextPayload(now: number): Uint8Array | null
  /**
   * Processes a payload of another user. Null: presence that changes nothing, such as a heartbeat. A payload that cannot be read or is
   * beyond a limit is a `RangeError` and changes nothing.
   */
  receive(sender: string, payload: Uint8Array, now: number): PresenceEvent | null
  /** Forgets the users of whom nothing was heard for too long, and returns their ids. */
  expire(now: number): string[]
  /** When `expire` or, on an open connection, `nextPayload` has something to do. Null: not before another call. */
  nextDeadline(connected?: boolean): number | null
  /** The ids of the other users. */
  peers(): string[]
  /** The presence of another user, if it is known. */
  peer(id: string): PeerPresence | null
  /** Prepares for a new connection: the others are told to forget this user and then of all channels, and answer with theirs. */
  reconnect(): void
  /** Tells the others that this user leaves. Nothing is sent after that. */
  leave(): void
  /** Was the last payload of this user sent? */
  readonly hasLeft: boolean
  /** Frees its memory, which otherwise happens when it is collected as garbage. */
  free(): void
}

/** In browsers: fetches and starts the module. Node starts it by itself and does not export this. */
export default function init(module?: { module_or_path: URL | Request | Response | BufferSource | WebAssembly.Module }): Promise<unknown>
