import type { LinkProps } from '@tanstack/react-router'
import type { Role } from '../../../src/contract/console/route.ts'

/** One line of the palette. */
export interface PaletteEntry {
  readonly key: string
  readonly group: 'Messages' | 'Connections' | 'Go to'
  readonly label: string
  /** Beside the label: a text, a state, keys. */
  readonly note: string
  readonly to: LinkProps['to']
  readonly params?: Readonly<Record<string, string>>
  readonly search?: Readonly<Record<string, unknown>>
}

interface PalettePage {
  readonly label: string
  /** Other words that people use for it. */
  readonly words: string
  readonly to: LinkProps['to']
  readonly keys?: string
  readonly least?: Role
}

const PAGES: readonly PalettePage[] = [
  { label: 'Overview', words: 'home figures', to: '/a/$account', keys: 'g o' },
  { label: 'API logs', words: 'messages requests search', to: '/a/$account/developer/logs', keys: 'g l' },
  { label: 'Connections', words: 'numbers lanes', to: '/a/$account/connections', keys: 'g c' },
  { label: 'Needs attention', words: 'alarms problems', to: '/a/$account/attention' },
  { label: 'Sandbox inbox', words: 'chats test', to: '/a/$account/sandbox', keys: 'g s' },
  { label: 'API tokens', words: 'keys', to: '/a/$account/developer/tokens', keys: 'g t' },
  { label: 'Create an API token', words: 'new key', to: '/a/$account/developer/tokens/new', least: 'developer' },
  { label: 'Add a connection', words: 'new number whatsapp', to: '/a/$account/connections/new', least: 'developer' },
  { label: 'Webhooks', words: 'notices callbacks', to: '/a/$account/developer/webhooks' },
  { label: 'Add a webhook', words: 'new', to: '/a/$account/developer/webhooks/new', least: 'developer' },
  { label: 'Quickstart', words: 'send first message curl', to: '/a/$account/developer/quickstart' },
  { label: 'Account', words: 'settings name', to: '/a/$account/settings/account' },
  { label: 'People', words: 'members invite roles', to: '/a/$account/settings/people', least: 'owner' },
  { label: 'Recipients', words: 'blocked opt out', to: '/a/$account/settings/recipients', least: 'developer' },
  { label: 'Retention', words: 'keep delete', to: '/a/$account/settings/retention' },
  { label: 'Audit log', words: 'who did what', to: '/a/$account/settings/audit', least: 'owner' },
  { label: 'Your profile', words: 'password passkey time display me', to: '/me' },
]

const RANKS: Readonly<Record<Role, number>> = { viewer: 0, developer: 1, owner: 2 }

/** The pages that this role may open and whose name or other words begin with what was typed. */
export function findPages(typed: string, role: Role): readonly PaletteEntry[] {
  const sought = typed.trim().toLowerCase()
  return PAGES.filter(({ least = 'viewer' }) => RANKS[least] <= RANKS[role])
    .filter(({ label, words }) => {
      const all = `${label} ${words}`.toLowerCase()
      return all.startsWith(sought) || all.includes(` ${sought}`)
    })
    .map(({ label, to, keys = '' }) => ({ key: label, group: 'Go to' as const, label, note: keys, to }))
}

/** The entry after or before this one; at the ends it goes on at the other end. */
export function step(at: number, by: 1 | -1, count: number): number {
  return count === 0 ? 0 : (at + by + count) % count
}
