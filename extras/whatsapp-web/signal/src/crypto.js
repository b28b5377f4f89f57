module.exports = require('libsignal-original/src/crypto')
