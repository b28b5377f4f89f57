module.exports = require('libsignal-original')
