const original = require('libsignal-original/src/curve')

// Each by its name, so that an ES module which imports this one sees them.
exports.calculateAgreement = original.calculateAgreement
exports.calculateSignature = original.calculateSignature
exports.generateKeyPair = original.generateKeyPair
exports.getPublicFromPrivateKey = original.getPublicFromPrivateKey

// The library takes everything that is not thrown for a good signature, and the original returns false.
exports.verifySignature = (publicKey, message, signature) => {
  if (!original.verifySignature(publicKey, message, signature)) throw new Error('The signature is wrong')
  return true
}
