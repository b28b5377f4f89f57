import type { People, Persons } from '../../../core/ports/console/people.ts'
import { change, type Store, writeAudit } from '../store.ts'
import { createFactors } from './factors.ts'
import { createLinkUses, createPersonLinks } from './links.ts'
import { createMembers } from './members.ts'
import { readCredentials, readPeople } from './person-view.ts'
import { addMembership, insertPerson, setPassword } from './write-person.ts'

export function createPeople(store: Store): People {
  return { ...createPersons(store), ...createMembers(store), ...createFactors(store) }
}

function createPersons(store: Store): Persons {
  const { database } = store
  return {
    ...createPersonLinks(store),
    ...createLinkUses(store),
    hasPeople: async () => (await database.selectFrom('person').select('id').limit(1).executeTakeFirst()) !== undefined,
    findPerson: async (personId) => (await readPeople(database, personId))[0] ?? null,
    findCredentials: (email) => readCredentials(database, { email }),
    findCredentialsOf: (personId) => readCredentials(database, { personId }),
    listPeople: () => readPeople(database, null),
    addPerson: (person, membership, by) =>
      change(store, by, async (making) => {
        const personId = await insertPerson(making, person)
        await addMembership(making, { ...membership, personId, email: person.email })
        const [view] = await readPeople(making.tables, personId)
        if (!view) throw new Error('A person is not there who was just added')
        return view
      }),
    changeName: (personId, name, by) =>
      change(store, by, async (making) => {
        await making.tables.updateTable('person').set({ name }).where('id', '=', personId).execute()
        await writeAudit(making, { action: 'person.rename', object: personId, accountId: null, detail: { name } })
      }),
    setPassword: (personId, { hash, keep }, by) =>
      change(store, by, (making) => setPassword(making, { personId, hash, keep })),
    async rehashPassword(personId, from, to) {
      await database
        .updateTable('person')
        .set({ password_hash: to })
        .where('id', '=', personId)
        .where('password_hash', '=', from)
        .execute()
    },
  }
}
