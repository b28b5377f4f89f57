module.exports = require('libsignal-original/src/protobufs')
