/** Costs and inputs of a hash. A number out of range is a RangeError whose message has the range. */
export type HashOptions = {
  /** Bytes of the hash. Default: 32. */
  hashLength?: number;
  /** Passes over the memory. Default: 3. */
  timeCost?: number;
  /** KiB of memory. Default: 65536. */
  memoryCost?: number;
  /** Lanes. Default: 4. */
  parallelism?: number;
  type?: 0 | 1 | 2;
  /** Default: 0x13; 0x10 is the previous version. */
  version?: number;
  /** Default: 16 random bytes; at least 8. */
  salt?: Buffer;
  associatedData?: Buffer;
  /** A key that is stored apart from the hashes. */
  secret?: Buffer;
  /** Aborts the work; the promise is rejected with the signal's reason. */
  signal?: AbortSignal;
};

export type VerifyOptions = {
  secret?: Buffer;
  /**
   * Maximum memory in KiB of a stored hash. Default: 2 GiB. A hash that needs more, or the same with more than four passes, is
   * a RangeError before anything is computed.
   */
  maxMemoryCost?: number;
  signal?: AbortSignal;
};

export const argon2d: 0;
export const argon2i: 1;
export const argon2id: 2;

/** Hashes a password on another thread: the bytes of the hash. */
export function hash(password: Buffer | string, options: HashOptions & { raw: true }): Promise<Buffer>;
/** Hashes a password on another thread: a string to store. */
export function hash(password: Buffer | string, options?: HashOptions & { raw?: boolean }): Promise<string>;

/** Whether a stored hash was made with other costs or another version. */
export function needsRehash(
  digest: string,
  options?: { timeCost?: number; memoryCost?: number; parallelism?: number; version?: number },
): boolean;

/**
 * Whether the password matches a stored hash; `false` also for a hash of another function. A string that is no hash is a
 * SyntaxError whose message has the place.
 */
export function verify(digest: string, password: Buffer | string, options?: VerifyOptions): Promise<boolean>;
