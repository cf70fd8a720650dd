'use strict';

const argon2 = require('./argon2.cjs');
const blake3 = require('./blake3.cjs');
const { EngineError } = require('./engine-error.cjs');
const passwords = require('./passwords.cjs');

module.exports = { EngineError, argon2, blake3, passwords };
