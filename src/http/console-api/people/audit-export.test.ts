import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'vitest'
import { ConsoleWorld, type Visitor } from '../../../../test/support/console-world/console-world.ts'
import type { AccountId } from '../../../core/ids.ts'

let world: ConsoleWorld
let account: AccountId
let owner: Visitor

describe('an export of the audit log', () => {
  beforeEach(async () => {
    world = new ConsoleWorld()
    const close = await world.openConsole('SQLite')
    account = await world.account('Acme')
    owner = await world.visitor(account, 'owner')
    return close
  })

  const take = async (query: Record<string, string> = {}) =>
    (await world.ask('exportAudit', { as: owner, params: { account }, query })).text

  it('holds all that the filter finds, over several pages, and itself', async () => {
    const objects = Array.from({ length: 250 }, (_, at) => `o${at}`)
    await world.noteInAudit(account, objects)

    const lines = (await take({ actor: 'x' })).trimEnd().split('\r\n')

    assert.equal(lines[0], 'at,actor,action,object,detail,remote_address,user_agent')
    assert.equal(new Set(lines.slice(1).map((line) => line.split(',')[3])).size, 250)
    assert.match(await take({ kind: 'account' }), /,audit\.export,audit log,/)
  })

  it('holds nothing that a spreadsheet would take for a formula', async () => {
    await world.noteInAudit(account, ['=HYPERLINK("http://evil.example")'])

    assert.match(await take({ actor: 'x' }), /"'=HYPERLINK\(""http/)
  })
})
