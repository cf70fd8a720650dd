'use strict';

const argon2 = require('./argon2.cjs');
const blake3 = require('./blake3.cjs');

module.exports = { argon2, blake3 };
