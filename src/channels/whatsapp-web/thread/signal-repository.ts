import type { Credentials, KeyStore, Library, MakeSignalRepository, TransactionalKeys } from './library.ts'
import { PersonLocks } from './person-locks.ts'

/**
 * The library's own repository, but each step of a ratchet is committed before its ciphertext is given out. The library
 * commits it only after the stanza has left: killed in between, it would use the same key for the next message, which the
 * recipient could then not read.
 */
export function durableRepository(
  library: Library,
  { keys, onEncrypted }: { readonly keys: KeyStore; readonly onEncrypted: (jid: string) => Promise<void> },
): MakeSignalRepository {
  return ({ creds }: { readonly creds: Credentials }, logger, toLids) => {
    const auth = { creds, keys: committing(keys) }
    const repository = library.DEFAULT_CONNECTION_CONFIG.makeSignalRepository(auth, logger, toLids)
    const locks = new PersonLocks(repository.lidMapping)
    const encrypt = repository.encryptMessage.bind(repository)
    const decrypt = repository.decryptMessage.bind(repository)
    const inject = repository.injectE2ESession.bind(repository)
    const remove = repository.deleteSession.bind(repository)
    const migrate = repository.migrateSession.bind(repository)
    repository.encryptMessage = async (plain) => {
      const ciphertext = await locks.run(plain.jid, () => encrypt(plain))
      await onEncrypted(plain.jid)
      return ciphertext
    }
    repository.decryptMessage = (sealed) => locks.run(sealed.jid, () => decrypt(sealed))
    repository.injectE2ESession = async (given) => {
      const { identityKey, signedPreKey } = given.session
      // libsignal does not check it: with keys that someone else has put in their place, messages could be read on the way.
      if (!library.Curve.verify(identityKey, signedPreKey.publicKey, signedPreKey.signature))
        throw new Error('the keys of a device have a wrong signature')
      return locks.run(given.jid, () => inject(given))
    }
    repository.deleteSession = async (jids) => {
      for (const jid of jids) await locks.run(jid, () => remove([jid]))
    }
    repository.migrateSession = (from, to) => locks.run(to, () => migrate(from, to))
    return repository
  }
}

/** Each change is committed at once. Work on the same address runs one at a time. */
function committing(keys: KeyStore): TransactionalKeys {
  const running = new Map<string, Promise<unknown>>()
  return {
    get: (kind, ids) => keys.get(kind, ids),
    set: (changes) => keys.set(changes),
    isInTransaction: () => false,
    transaction(work, key) {
      const before = running.get(key) ?? Promise.resolve()
      const result = before.then(work)
      const ended = result.then(
        () => {},
        () => {},
      )
      running.set(key, ended)
      void ended.then(() => {
        if (running.get(key) === ended) running.delete(key)
      })
      return result
    },
  }
}
