import type { HashInput } from "./blake3.js"

export { load } from "./blake3.js"

export declare const argon2d: 0
export declare const argon2i: 1
export declare const argon2id: 2

export interface HashOptions {
  /** Bytes of the hash. Default: 32. */
  hashLength?: number
  /** Passes over the memory. Default: 3. */
  timeCost?: number
  /** KiB. Default: 65536. */
  memoryCost?: number
  /** Lanes. Default: 4. They change the hash, and are computed one after the other. */
  parallelism?: number
  /** argon2id. */
  type?: 0 | 1 | 2
  /** 0x13. */
  version?: number
  /** 16 random bytes. */
  salt?: HashInput
  associatedData?: HashInput
  secret?: HashInput
  /** Aborts the work immediately, which then fails with the signal's reason. */
  signal?: AbortSignal
}

export interface VerifyOptions {
  secret?: HashInput
  signal?: AbortSignal
}

/** The hash of a password: the string to store or, with `raw`, only the bytes. */
export declare function hash(password: HashInput, options: HashOptions & { raw: true }): Promise<Uint8Array>
export declare function hash(password: HashInput, options?: HashOptions & { raw?: boolean }): Promise<string>

/** Whether the password matches the stored hash. */
export declare function verify(digest: string, password: HashInput, options?: VerifyOptions): Promise<boolean>

/** Whether a stored hash has other costs, or another version, than these. */
export declare function needsRehash(
  digest: string,
  options?: { timeCost?: number; memoryCost?: number; parallelism?: number; version?: number },
): boolean

declare const argon2: {
  argon2d: typeof argon2d
  argon2i: typeof argon2i
  argon2id: typeof argon2id
  hash: typeof hash
  needsRehash: typeof needsRehash
  verify: typeof verify
}
export default argon2
