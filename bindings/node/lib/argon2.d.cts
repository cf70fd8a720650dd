/** What a hash costs, and what goes into it. A number out of range is a RangeError with the range in its words. */
export type HashOptions = {
  /** Bytes of the hash: 32 unless said. */
  hashLength?: number;
  /** Passes over the memory: 3 unless said. */
  timeCost?: number;
  /** KiB of memory: 65536 unless said. */
  memoryCost?: number;
  /** Lanes: 4 unless said. */
  parallelism?: number;
  type?: 0 | 1 | 2;
  /** 0x13 unless said; 0x10 is the version before. */
  version?: number;
  /** 16 random bytes unless given; at least 8. */
  salt?: Buffer;
  associatedData?: Buffer;
  /** A key that is kept apart from the hashes. */
  secret?: Buffer;
  /** Ends the work; the promise is rejected with the signal's reason. */
  signal?: AbortSignal;
};

export type VerifyOptions = {
  secret?: Buffer;
  /**
   * The most memory in KiB that a stored hash may cost: 2 GiB unless said. One that costs more, or as much for more than four
   * passes, is a RangeError before anything is computed.
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
 * Whether the password is that of a stored hash; `false` too for a hash of another function than Argon2. A string that is no
 * hash at all is a SyntaxError with the place in its words.
 */
export function verify(digest: string, password: Buffer | string, options?: VerifyOptions): Promise<boolean>;
