import { WEBHOOK_DESCRIPTION } from '../../contract/console/form-rules.ts'
import { commandLine } from '../../core/command-line.ts'
import type { AccountId } from '../../core/ids.ts'
import { drawWebhookId, drawWebhookSecret, webhookSecretPlace } from '../../core/notifications/draw-webhook.ts'
import { WANTABLE_KINDS } from '../../core/notifications/notification-kinds.ts'
import { readWebhookKinds, readWebhookUrl } from '../../core/notifications/read-webhook-form.ts'
import { DELIVERY_STATES, type DeliveryState } from '../../core/notifications/webhook.ts'
import type { DeliveryRow, WebhookView } from '../../core/ports/webhooks.ts'
import { readOneLine } from '../../core/read-one-line.ts'
import { Refusal } from '../../core/refusals.ts'
import { counted } from '../../format/counted.ts'
import { relativeTime } from '../../format/instants.ts'
import type { AdministrationSession } from '../../server/wiring/open-administration.ts'
import { ACTOR, type Cli } from '../cli.ts'
import { deliveryJson, webhookJson } from '../format/json-shapes.ts'
import type { CommonOptions, NuncioCommand } from '../nuncio-command.ts'
import { collect } from '../parse/argument.ts'
import { findAccount, findAccountOrAll } from '../parse/find-account.ts'

export function addWebhookCommands(program: NuncioCommand, cli: Cli): void {
  const group = program.group(
    'webhook',
    'webhooks: where an account is notified of events of its own messages and connections',
  )
  addAdd(group, cli)
  addList(group, cli)
  addEnable(group, cli)
  addDisable(group, cli)
  addRemove(group, cli)
  addTest(group, cli)
  addDeliveries(group, cli)
  addReplay(group, cli)
}

interface AddOptions extends CommonOptions {
  readonly notice?: readonly string[]
  readonly description?: string
}

function addAdd(group: NuncioCommand, cli: Cli): void {
  group
    .command('add <url>')
    .description('post notices to this address; its secret is shown once')
    .option(
      '--notice <kind>',
      'what it wants to hear of (repeatable), such as message.failed; without this, all',
      collect,
    )
    .option('--description <text>', 'what it is for')
    .withAccount('the account it belongs to; needed when there are several')
    .withJson('{id, url, notices, secret}')
    .withExamples(
      commandLine`webhook add https://shop.example.com/hooks/nuncio`,
      commandLine`webhook add https://shop.example.com/hooks/nuncio --notice message.failed --notice message.unconfirmed`,
    )
    .action((url: string, options: AddOptions) => add(cli, url, options))
}

async function add(cli: Cli, text: string, options: AddOptions): Promise<void> {
  const kinds = readWebhookKinds(options.notice ?? WANTABLE_KINDS)
  const description = readOneLine(options.description ?? '', WEBHOOK_DESCRIPTION)
  await cli.withAdministration(async (session) => {
    const { id: accountId } = await findAccount(session.administration, options.account)
    const url = readWebhookUrl(text, session.webhookRanges)
    const drawBytes = (count: number) => Buffer.from(cli.surroundings.drawBytes(count))
    const id = drawWebhookId(drawBytes)
    const secret = drawWebhookSecret(drawBytes)
    const sealed = (await session.openSecrets()).seal(secret, webhookSecretPlace(accountId, id))
    const wanted = { accountId, id, url, description, kinds, secret: sealed }
    await session.webhooks.addWebhook(wanted, ACTOR)
    if (options.json) return cli.json({ id, url, notices: kinds, secret })
    await cli.say(`${secret}\n`)
    await cli.say(
      `This is the secret of the webhook ${id}. It is shown only now: give it to whatever receives at ${url}.`,
    )
    await cli.say(`Try it: ${commandLine`webhook test ${id}`}`)
  })
}

function addList(group: NuncioCommand, cli: Cli): void {
  group
    .command('list')
    .description('show webhooks, their status, and the results of their deliveries of the last day')
    .withAccount('only those of this account')
    .withJson('an array of webhooks')
    .withExamples(commandLine`webhook list`)
    .action((options: CommonOptions) =>
      cli.withAdministration(async (session) => {
        const webhooks = await listAll(session, options.account)
        if (options.json) return cli.jsonList(webhooks.map(webhookJson))
        await cli.table({
          columns: ['ID', 'URL', 'STATE', 'WAITING', 'DELIVERED', 'FAILED', 'DROPPED', 'NOTICES'],
          rows: webhooks.map(webhookRow),
          whenEmpty: `There is no webhook. Add one: ${commandLine`webhook add URL`}`,
        })
      }),
    )
}

function webhookRow({ id, url, state, lastDay, dropped, kinds }: WebhookView): readonly string[] {
  const { waiting, delivered, failed } = lastDay
  return [id, url, state, `${waiting}`, `${delivered}`, `${failed}`, `${dropped}`, kinds.join(',')]
}

function addEnable(group: NuncioCommand, cli: Cli): void {
  group
    .command('enable <id>')
    .description('post to a webhook again: what still waits for it is tried anew')
    .withAccount('the account it belongs to')
    .withJson('the webhook')
    .withExamples(commandLine`webhook enable whk_1c5e9a7b3d2f`)
    .action((id: string, options: CommonOptions) =>
      setState(cli, { id, state: 'enabled', options }, `Enabled ${id}. Try it: ${commandLine`webhook test ${id}`}`),
    )
}

function addDisable(group: NuncioCommand, cli: Cli): void {
  group
    .command('disable <id>')
    .description('post nothing to a webhook, and keep nothing new for it, until it is enabled')
    .withAccount('the account it belongs to')
    .withJson('the webhook')
    .withExamples(commandLine`webhook disable whk_1c5e9a7b3d2f`)
    .action((id: string, options: CommonOptions) =>
      setState(
        cli,
        { id, state: 'disabled', options },
        `Disabled ${id}. Nothing new is kept for it until: ${commandLine`webhook enable ${id}`}`,
      ),
    )
}

interface WantedState {
  readonly id: string
  readonly state: 'enabled' | 'disabled'
  readonly options: CommonOptions
}

function setState(cli: Cli, { id, state, options }: WantedState, sentence: string): Promise<void> {
  return cli.withAdministration(async (session) => {
    const of = await find(session, id, options.account)
    const webhook = await session.webhooks.setWebhookState(of, state, ACTOR)
    if (options.json) return cli.json(webhookJson(webhook))
    await cli.say(sentence)
  })
}

function addRemove(group: NuncioCommand, cli: Cli): void {
  group
    .command('remove <id>')
    .description('post nothing more to a webhook, and forget its deliveries')
    .withAccount('the account it belongs to')
    .withJson('{id, removed}')
    .withExamples(commandLine`webhook remove whk_1c5e9a7b3d2f`)
    .action((id: string, options: CommonOptions) =>
      cli.withAdministration(async (session) => {
        await session.webhooks.removeWebhook(await find(session, id, options.account), ACTOR)
        if (options.json) return cli.json({ id, removed: true })
        await cli.say(`The webhook ${id} was removed.`)
      }),
    )
}

function addTest(group: NuncioCommand, cli: Cli): void {
  group
    .command('test <id>')
    .description('post a notice webhook.test to a webhook; the running service does it')
    .withAccount('the account it belongs to')
    .withJson('{id, delivery}')
    .withExamples(commandLine`webhook test whk_1c5e9a7b3d2f`)
    .action((id: string, options: CommonOptions) =>
      cli.withAdministration(async (session) => {
        const delivery = await session.webhooks.testWebhook(await find(session, id, options.account), ACTOR)
        if (options.json) return cli.json({ id, delivery })
        await cli.say(`It is on its way. See what became of it: ${commandLine`webhook deliveries ${id}`}`)
      }),
    )
}

interface DeliveriesOptions extends CommonOptions {
  readonly state?: string
}

function addDeliveries(group: NuncioCommand, cli: Cli): void {
  group
    .command('deliveries <id>')
    .description('show the newest 50 deliveries of a webhook')
    .option('--state <state>', `only those that are ${DELIVERY_STATES.join(', ')}`)
    .withAccount('the account it belongs to')
    .withJson('an array of deliveries')
    .withExamples(commandLine`webhook deliveries whk_1c5e9a7b3d2f --state failed`)
    .action((id: string, options: DeliveriesOptions) =>
      cli.withAdministration(async (session) => {
        const state = parseDeliveryState(options.state)
        const of = await find(session, id, options.account)
        const { items } = await session.webhooks.listDeliveries(of, { state, kind: null, after: null })
        if (options.json) return cli.jsonList(items.map(deliveryJson))
        const now = cli.surroundings.now()
        await cli.table({
          columns: ['DELIVERY', 'NOTICE', 'STATE', 'TRIES', 'LAST', 'MADE', 'NEXT TRY', 'WEBHOOK-ID'],
          rows: items.map((item) => deliveryRow(item, now)),
          whenEmpty: `There is none. Try it: ${commandLine`webhook test ${id}`}`,
        })
      }),
    )
}

function deliveryRow(item: DeliveryRow, now: number): readonly string[] {
  const { position, kind, state, tries, lastStatus, lastCode, createdAt, nextTryAt, notificationId } = item
  const last = lastStatus === null ? (lastCode ?? '') : `${lastStatus}`
  const next = nextTryAt === null ? '' : relativeTime(nextTryAt, now)
  return [`${position}`, kind, state, `${tries}`, last, relativeTime(createdAt, now), next, notificationId]
}

function parseDeliveryState(text: string | undefined): DeliveryState | null {
  if (text === undefined) return null
  const state = DELIVERY_STATES.find((known) => known === text)
  if (!state)
    throw new Refusal(
      'argument_invalid',
      `“${text}” is no state of a delivery. Use one of: ${DELIVERY_STATES.join(', ')}.`,
    )
  return state
}

interface ReplayOptions extends CommonOptions {
  readonly delivery?: string
  readonly failedSince?: string
}

function addReplay(group: NuncioCommand, cli: Cli): void {
  group
    .command('replay <id>')
    .description('post deliveries of a webhook again: one, or all that failed or were dropped since a moment')
    .option('--delivery <number>', `this one, as \`${commandLine`webhook deliveries`}\` names it`)
    .option(
      '--failed-since <time>',
      'all that failed or were dropped since then, such as 2026-11-22 or 2026-11-22T10:00Z',
    )
    .withAccount('the account it belongs to')
    .withJson('{id, replayed}')
    .withExamples(
      commandLine`webhook replay whk_1c5e9a7b3d2f --delivery 42`,
      commandLine`webhook replay whk_1c5e9a7b3d2f --failed-since 2026-11-22`,
    )
    .action((id: string, options: ReplayOptions) =>
      cli.withAdministration(async (session) => {
        const replayed = await replay(session, id, options)
        if (options.json) return cli.json({ id, replayed })
        await cli.say(`${counted(replayed, 'delivery is', 'deliveries are')} on the way again.`)
      }),
    )
}

async function replay(session: AdministrationSession, id: string, options: ReplayOptions): Promise<number> {
  const { delivery, failedSince } = options
  if ((delivery === undefined) === (failedSince === undefined))
    throw new Refusal('argument_invalid', 'Say either --delivery or --failed-since.')
  const of = await find(session, id, options.account)
  if (failedSince !== undefined) {
    const since = Date.parse(failedSince)
    if (Number.isNaN(since))
      throw new Refusal('argument_invalid', `“${failedSince}” is no time. Write it like 2026-11-22.`)
    return session.webhooks.replayFailed(of, since, ACTOR)
  }
  if (!/^\d{1,15}$/.test(delivery ?? ''))
    throw new Refusal(
      'argument_invalid',
      `“${delivery ?? ''}” is no delivery. They are numbers: ${commandLine`webhook deliveries ${id}`}`,
    )
  await session.webhooks.replayDelivery(of, Number(delivery), ACTOR)
  return 1
}

async function listAll({ administration, webhooks }: AdministrationSession, account: string | undefined) {
  const one = await findAccountOrAll(administration, account)
  const accounts = one ? [one] : await administration.listAccounts()
  const found: WebhookView[] = []
  for (const { id } of accounts) found.push(...(await webhooks.listWebhooks(id)))
  return found
}

/** The id says which account it belongs to. */
async function find(
  session: AdministrationSession,
  id: string,
  account: string | undefined,
): Promise<{ readonly accountId: AccountId; readonly id: string }> {
  const webhook = (await listAll(session, account)).find((one) => one.id === id)
  if (!webhook) throw new Refusal('webhook_unknown', `There is no webhook ${id}. See: ${commandLine`webhook list`}`)
  return { accountId: webhook.accountId, id }
}
