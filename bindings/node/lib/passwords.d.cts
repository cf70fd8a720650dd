/** Costs and lengths of new hashes. */
export type Policy = {
  /** KiB of memory. */
  readonly memoryCost: number;
  /** Passes over the memory. */
  readonly timeCost: number;
  /** Lanes. */
  readonly parallelism: number;
  /** 0, 1, 2 for Argon2d, i and id. Default: id. */
  readonly type?: number;
  /** Bytes of the hash, at least 16. Default: 32. */
  readonly hashLength?: number;
  /** Bytes of the salt. Default: 16. */
  readonly saltLength?: number;
};

/** Named policies: those of OWASP, RFC 9106, libsodium and others. */
export const POLICIES: Readonly<Record<string, Required<Policy>>>;

export type PasswordsOptions = {
  /**
   * Limits of stored hashes: `around` eight times the policy (default), exactly the `policy`, or all `recommended` costs (2
   * GiB, seconds). A hash beyond them is a RangeError before anything is computed.
   */
  limits?: 'around' | 'policy' | 'recommended';
  /** A key that is not stored with the hashes and is mixed into all of them. An undefined value is a TypeError. */
  secret?: Uint8Array | string;
  /**
   * Maximum memory in KiB of all calls together on the processor, at least that of one new hash: further calls wait. A stored hash
   * that needs more is computed alone. Engines have a budget of their own: half of the free memory of the host, or one hash, and the
   * memory of each device.
   */
  memoryBudget?: number;
  /**
   * Engines of `hashMany` and `verifyMany`: `cpu` (default), `cuda`, `wgpu`, a device as `cuda:1`, or several as `cpu,cuda`. The
   * constructor opens them. Their results are checked. An engine that is not available, or fails, is an `EngineError`; if another
   * engine takes over its part, or the processor after a wrong result, a warning is emitted instead.
   */
  engine?: string;
};

export type Ends = {
  /** Aborts the work; the promise is rejected with the signal's reason. */
  signal?: AbortSignal;
};

export type Checked = {
  matches: boolean;
  /** The hash to store from now on. */
  upgrade: string | undefined;
  /** The reason why a needed upgrade could not be made, such as a lack of memory. The password did match. */
  reason: Error | undefined;
};

/**
 * Hashes and checks passwords with one policy: a name of `POLICIES` (default `owasp`), or costs. Memory is kept for the next
 * call, and wiped after each. Passwords are copied before a call returns its promise, and the copies are wiped.
 *
 * An unknown name in a policy or options is a TypeError.
 *
 * A stored hash may have its costs in the order of the package `argon2` or of libargon2. A string that is no hash is a
 * SyntaxError.
 */
export class Passwords {
  constructor(policy?: string | Policy, options?: PasswordsOptions);
  readonly policy: Readonly<Required<Policy>>;
  /** A hash to store, with a random salt, in the order of libargon2. */
  hash(password: Uint8Array | string, options?: Ends): Promise<string>;
  /** Whether the password matches the hash. */
  verify(stored: string, password: Uint8Array | string, options?: Ends): Promise<boolean>;
  /** `verify`, and after a match a new hash if `needsRehash` requires one. */
  verifyAndUpgrade(stored: string, password: Uint8Array | string, options?: Ends): Promise<Checked>;
  /** Takes the time of `verify` with a new hash, and never matches: for user names that do not exist. */
  verifyDummy(password: Uint8Array | string, options?: Ends): Promise<false>;
  /** A hash for each password, in the same order, on all processors or on `engine`. */
  hashMany(passwords: Iterable<Uint8Array | string> & object, options?: Ends): Promise<string[]>;
  /** For each pair of a stored hash and a password, in the same order: whether they match, or the reason why there is no answer. On all processors or on `engine`. */
  verifyMany(
    logins: Iterable<readonly [stored: string, password: Uint8Array | string]> & object,
    options?: Ends,
  ): Promise<PromiseSettledResult<boolean>[]>;
  /** Whether a new hash would be stronger in some value, and no cost lower. A stored hash that costs more than the policy stays. */
  needsRehash(stored: string): boolean;
  /** The differences between a hash and a new one, in words. */
  differences(stored: string): string[];
}
