/** What new hashes look like. */
export type Policy = {
  /** KiB of memory. */
  readonly memoryCost: number;
  /** Passes over the memory. */
  readonly timeCost: number;
  /** Lanes. */
  readonly parallelism: number;
  /** 0, 1, 2 for Argon2d, i and id, which is taken unless said. */
  readonly type?: number;
  /** Bytes of the hash, 16 at least: 32 unless said. */
  readonly hashLength?: number;
  /** Bytes of the salt: 16 unless said. */
  readonly saltLength?: number;
};

/** Policies that have a name: those of OWASP, RFC 9106, libsodium and others. */
export const POLICIES: Readonly<Record<string, Required<Policy>>>;

export type PasswordsOptions = {
  /**
   * The most that a stored hash may cost: `around` eight times the policy, which is taken unless said, exactly the `policy`, or
   * whatever is `recommended` somewhere (2 GiB, seconds). What costs more is a RangeError before anything is computed.
   */
  limits?: 'around' | 'policy' | 'recommended';
  /** A key that is not stored with the hashes, and that all of them are bound to. One that is given as undefined is a TypeError. */
  secret?: Uint8Array | string;
  /**
   * The most memory in KiB that all calls take together, as much at least as one new hash takes: those that find no room wait. A
   * stored hash that needs more is computed alone.
   */
  memoryBudget?: number;
};

export type Ends = {
  /** Ends the work; the promise is rejected with the signal's reason. */
  signal?: AbortSignal;
};

export type Checked = {
  matches: boolean;
  /** What should be stored from now on. */
  upgrade: string | undefined;
  /** Why there is no upgrade where there should be one, such as a lack of memory. The password matched all the same. */
  reason: Error | undefined;
};

/**
 * Hashes and checks passwords under one policy: a name of `POLICIES`, `owasp` unless said, or costs. Memory is kept for the next
 * call, and wiped after each. Passwords are copied before a call returns its promise, and the copies are wiped.
 *
 * A name that neither a policy nor options have is a TypeError.
 *
 * A stored hash may have its costs in any order, as the package `argon2` and libargon2 have them. What is none is a SyntaxError.
 */
export class Passwords {
  constructor(policy?: string | Policy, options?: PasswordsOptions);
  readonly policy: Readonly<Required<Policy>>;
  /** A hash to store, with a random salt, in the order of libargon2. */
  hash(password: Uint8Array | string, options?: Ends): Promise<string>;
  /** Whether the password is that of the hash. */
  verify(stored: string, password: Uint8Array | string, options?: Ends): Promise<boolean>;
  /** `verify`, and after a match a new hash where `needsRehash` asks for one. */
  verifyAndUpgrade(stored: string, password: Uint8Array | string, options?: Ends): Promise<Checked>;
  /** Takes as long as `verify` of a new hash, and is never a match: for names that nobody has. */
  verifyDummy(password: Uint8Array | string, options?: Ends): Promise<false>;
  /** A hash for each password, in their order, on all processors. */
  hashMany(passwords: Iterable<Uint8Array | string> & object, options?: Ends): Promise<string[]>;
  /** For each pair of a stored hash and a password, in their order: whether they match, or why nothing is known. On all processors. */
  verifyMany(
    logins: Iterable<readonly [stored: string, password: Uint8Array | string]> & object,
    options?: Ends,
  ): Promise<PromiseSettledResult<boolean>[]>;
  /** Whether a new hash were stronger somewhere, and nowhere cheaper. A stored hash that costs more than the policy stays. */
  needsRehash(stored: string): boolean;
  /** In what a hash differs from a new one, in words. */
  differences(stored: string): string[];
}
