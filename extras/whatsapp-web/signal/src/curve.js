const original = require('libsignal-original/src/curve')
const { isSignedBy } = require('./is-signed-by.js')

// Each by its name, so that an ES module which imports this one sees them.
exports.calculateAgreement = original.calculateAgreement
exports.calculateSignature = original.calculateSignature
exports.generateKeyPair = original.generateKeyPair
exports.getPublicFromPrivateKey = original.getPublicFromPrivateKey

// The library takes everything that is not thrown for a good signature, and the original returns false.
exports.verifySignature = (publicKey, message, signature) => {
  // Of 33 bytes the first one is the type of the key.
  const key = publicKey.length === 33 && publicKey[0] === 5 ? publicKey.subarray(1) : publicKey
  if (!isSignedBy(key, message, signature)) throw new Error('The signature is wrong')
  return true
}
