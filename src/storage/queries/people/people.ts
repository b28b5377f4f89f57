import type { People } from '../../../core/ports/console/people.ts'
import type { Store } from '../store.ts'
import { createFactors } from './factors.ts'
import { createMembers } from './members.ts'
import { createPersons } from './persons.ts'

export function createPeople(store: Store): People {
  return { ...createPersons(store), ...createMembers(store), ...createFactors(store) }
}
