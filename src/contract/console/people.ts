import { z } from 'zod'
import { oneLine } from './one-line-text.ts'
import { consoleRoute, ROLES } from './route.ts'
import { email } from './session.ts'
import { done, inAccount, instant, ofAccount } from './shapes.ts'
import { plain } from './viewer-text.ts'

/** The secret at the end of a link. */
const link = z.string().max(100)
const role = z.enum(ROLES)
export const PERSON_NAME = { what: 'The name', most: 80 }
const personName = oneLine(PERSON_NAME)
const accountName = oneLine({ what: 'The name of an account', most: 60 })
/** The server checks the password itself, because the rules depend on the person. */
const newPassword = z.string().min(1, 'Choose a password.').max(1_024, 'A password has at most 256 bytes.')
// Together with the password, so that all faults of a form are reported at once.
const checkedByServer = z.string()
const code = z.string().trim().min(1, 'Enter the code.').max(64, 'This is no code.')
const passkeyJson = z.custom<Readonly<Record<string, unknown>>>(
  (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
  'This is no answer of a passkey.',
)
const passkeyName = oneLine({ what: 'The name of a passkey', most: 60 })
const byId = z.object({ id: z.string() })
/** Shown once; null when the person has some already. */
const recoveryCodes = z.object({ recoveryCodes: z.array(z.string()).nullable() })

const member = z.object({
  personId: z.string(),
  email: z.string(),
  name: z.string(),
  role,
  joinedAt: instant,
  lastSignInAt: instant.nullable(),
  hasSecondFactor: z.boolean(),
})

const invitation = z.object({
  id: z.string(),
  email: z.string(),
  role,
  createdAt: instant,
  expiresAt: instant,
  createdBy: z.string(),
})

/** Set-up, invitation and password links, each valid once. */
const linkRoutes = {
  readLink: consoleRoute({
    method: 'POST',
    path: '/links/read',
    access: 'public',
    body: z.object({ kind: z.enum(['set-up', 'invitation', 'reset-password']), link }),
    reply: z.object({
      email: z.string().nullable(),
      account: z.string().nullable(),
      role: role.nullable(),
      expiresAt: instant,
    }),
  }),
  setUp: consoleRoute({
    method: 'POST',
    path: '/links/set-up',
    access: 'public',
    body: z.object({ link, name: checkedByServer, email: checkedByServer, password: checkedByServer }),
    reply: done,
  }),
  acceptInvitation: consoleRoute({
    method: 'POST',
    path: '/links/invitation',
    access: 'public',
    body: z.object({ link, name: checkedByServer, password: checkedByServer }),
    reply: done,
  }),
  joinAccount: consoleRoute({
    method: 'POST',
    path: '/links/join',
    access: 'person',
    body: z.object({ link }),
    reply: z.object({ account: z.string() }),
  }),
  resetPassword: consoleRoute({
    method: 'POST',
    path: '/links/reset-password',
    access: 'public',
    body: z.object({ link, password: newPassword }),
    reply: done,
  }),
} as const

/** A person's own name, password and second factors. */
const ownRoutes = {
  changeOwnName: consoleRoute({
    method: 'PUT',
    path: '/me/name',
    access: 'person',
    body: z.object({ name: personName }),
    reply: done,
  }),
  changePassword: consoleRoute({
    method: 'PUT',
    path: '/me/password',
    access: 'person',
    stepUp: true,
    body: z.object({ password: newPassword }),
    reply: done,
  }),
  readFactors: consoleRoute({
    method: 'GET',
    path: '/me/factors',
    access: 'person',
    reply: z.object({
      totpSince: instant.nullable(),
      passkeys: z.array(
        z.object({ id: z.string(), name: z.string(), createdAt: instant, lastUsedAt: instant.nullable() }),
      ),
      recoveryCodesLeft: z.int(),
    }),
  }),
  beginTotp: consoleRoute({
    method: 'POST',
    path: '/me/totp/begin',
    access: 'person',
    stepUp: true,
    reply: z.object({
      /** Base32, for typing it by hand. */
      secret: z.string(),
      uri: z.string(),
    }),
  }),
  confirmTotp: consoleRoute({
    method: 'POST',
    path: '/me/totp/confirm',
    access: 'person',
    stepUp: true,
    body: z.object({ code }),
    reply: recoveryCodes,
  }),
  removeTotp: consoleRoute({ method: 'DELETE', path: '/me/totp', access: 'person', stepUp: true, reply: done }),
  replaceRecoveryCodes: consoleRoute({
    method: 'POST',
    path: '/me/recovery-codes',
    access: 'person',
    stepUp: true,
    reply: z.object({ recoveryCodes: z.array(z.string()) }),
  }),
  requestNewPasskey: consoleRoute({
    method: 'POST',
    path: '/me/passkeys/question',
    access: 'person',
    stepUp: true,
    reply: z.object({ ticket: z.string(), options: passkeyJson }),
  }),
  addPasskey: consoleRoute({
    method: 'POST',
    path: '/me/passkeys',
    access: 'person',
    stepUp: true,
    body: z.object({ ticket: z.string().max(100), answer: passkeyJson, name: passkeyName }),
    reply: recoveryCodes,
  }),
  renamePasskey: consoleRoute({
    method: 'PUT',
    path: '/me/passkeys/:id',
    access: 'person',
    params: byId,
    body: z.object({ name: passkeyName }),
    reply: done,
  }),
  removePasskey: consoleRoute({
    method: 'DELETE',
    path: '/me/passkeys/:id',
    access: 'person',
    stepUp: true,
    params: byId,
    reply: done,
  }),
} as const

/** An account and its members. */
const memberRoutes = {
  readAccount: consoleRoute({
    method: 'GET',
    path: '/accounts/:account/settings',
    access: 'viewer',
    params: ofAccount,
    reply: z.object({ id: plain, name: plain, createdAt: instant, requiresSecondFactor: z.boolean() }),
  }),
  renameAccount: consoleRoute({
    method: 'PUT',
    path: '/accounts/:account/settings/name',
    access: 'owner',
    params: ofAccount,
    body: z.object({ name: accountName }),
    reply: done,
  }),
  requireSecondFactor: consoleRoute({
    method: 'PUT',
    path: '/accounts/:account/settings/second-factor',
    access: 'owner',
    stepUp: true,
    params: ofAccount,
    body: z.object({ isRequired: z.boolean() }),
    reply: done,
  }),
  listMembers: consoleRoute({
    method: 'GET',
    path: '/accounts/:account/people',
    access: 'owner',
    params: ofAccount,
    reply: z.object({ members: z.array(member), invitations: z.array(invitation) }),
  }),
  invitePerson: consoleRoute({
    method: 'POST',
    path: '/accounts/:account/invitations',
    access: 'owner',
    stepUp: true,
    params: ofAccount,
    body: z.object({ email, role }),
    /** The link is shown once; the person who invites passes it on. */
    reply: z.object({ url: z.string(), expiresAt: instant }),
  }),
  withdrawInvitation: consoleRoute({
    method: 'DELETE',
    path: '/accounts/:account/invitations/:id',
    access: 'owner',
    stepUp: true,
    params: inAccount,
    reply: done,
  }),
  changeRole: consoleRoute({
    method: 'PUT',
    path: '/accounts/:account/people/:id/role',
    access: 'owner',
    stepUp: true,
    params: inAccount,
    body: z.object({ role }),
    reply: done,
  }),
  removeMember: consoleRoute({
    method: 'DELETE',
    path: '/accounts/:account/people/:id',
    access: 'owner',
    stepUp: true,
    params: inAccount,
    reply: done,
  }),
} as const

export const peopleRoutes = { ...linkRoutes, ...ownRoutes, ...memberRoutes } as const
