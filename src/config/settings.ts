import { commandLine } from '../core/command-line.ts'
import { LEAST_BODIES_DAYS, LEAST_MESSAGES_DAYS, MOST_DAYS } from '../core/retention/retention-times.ts'
import { databaseUrl, postgresUrl, warnOfTlsMode } from './database-url.ts'
import { OTEL_ENDPOINTS, OTEL_HEADERS } from './otel-variables.ts'
import { type Setting, setting } from './setting.ts'
import {
  baseUrl,
  cidrList,
  daysOrForEver,
  dnsServerList,
  file,
  folder,
  headerPairs,
  host,
  megabytes,
  networkUrl,
  oneOf,
  originList,
  publicUrl,
  ROLES,
  roleList,
  secretText,
  trueOrFalse,
  whatsAppWebUrl,
  whatsAppWebVersion,
  wholeNumber,
} from './setting-kinds.ts'

const LARGEST_COUNT = 1_000_000_000

/** Every setting there is. `.env.example` and docs/configuration.md are printed from this table, in this order. */
export const SETTINGS = {
  port: setting({
    name: 'NUNCIO_PORT',
    kind: wholeNumber(0, 65_535),
    default: '8080',
    purpose: 'The port the service listens on; 0 takes any free one.',
  }),
  host: setting({
    name: 'NUNCIO_HOST',
    kind: host,
    default: '127.0.0.1',
    purpose: 'The address the service listens on; 0.0.0.0 or :: opens it to the network.',
  }),
  dataDir: setting({
    name: 'NUNCIO_DATA_DIR',
    kind: folder,
    default: './data',
    purpose: 'The folder that holds the database and the media that wait to be sent.',
  }),
  keyRingFile: setting({
    name: 'NUNCIO_KEY_RING_FILE',
    kind: file,
    default: '',
    whenUnset: null,
    otherwise: '`keys/key-ring.json` in the data folder',
    purpose:
      'The file with the keys that secrets in the database are sealed with; made at the first start. Without it they cannot be opened: back it up, and apart from the database.',
  }),
  databaseUrl: setting({
    name: 'NUNCIO_DATABASE_URL',
    kind: databaseUrl,
    default: '',
    whenUnset: null,
    otherwise: 'SQLite in the data folder',
    purpose:
      'The database to use instead of the one in the data folder. On SQLite one process serves; PostgreSQL takes any number, on any number of machines.',
    warning: (database) => (database?.engine === 'postgres' ? warnOfTlsMode(database.url) : null),
  }),
  databaseListenUrl: setting({
    name: 'NUNCIO_DATABASE_LISTEN_URL',
    kind: postgresUrl,
    default: '',
    whenUnset: null,
    otherwise: 'NUNCIO_DATABASE_URL',
    purpose:
      'A direct way to the same PostgreSQL, for LISTEN; needed when NUNCIO_DATABASE_URL goes through a pooler in transaction mode.',
    warning: (url) => url && warnOfTlsMode(url),
  }),
  databaseMigrateUrl: setting({
    name: 'NUNCIO_DATABASE_MIGRATE_URL',
    kind: postgresUrl,
    default: '',
    whenUnset: null,
    otherwise: 'NUNCIO_DATABASE_URL',
    purpose: `The same PostgreSQL with a user who may change its tables; used at start and by \`${commandLine`migrate`}\`, \`backup\` and \`restore\`, and for nothing else.`,
    warning: (url) => url && warnOfTlsMode(url),
  }),
  roles: setting({
    name: 'NUNCIO_ROLES',
    kind: roleList,
    default: ROLES.join(','),
    purpose:
      'What this process does: `api` takes messages, `dispatch` sends them, `console` serves the web console. Health and metrics it serves with any of them. On SQLite it must be all.',
  }),
  processes: setting({
    name: 'NUNCIO_PROCESSES',
    kind: wholeNumber(1, 64),
    default: '1',
    purpose:
      'How many processes serve on this machine, on one port; one for each core uses all of it. On SQLite it must be 1.',
  }),
  publicUrl: setting({
    name: 'NUNCIO_PUBLIC_URL',
    kind: publicUrl,
    default: '',
    whenUnset: null,
    otherwise: 'made of the host and the port',
    purpose:
      'The address under which callers and people reach the service, such as https://send.example.org or https://example.org/nuncio: links of the console, examples and the API reference name it. Below its path, if it has one, everything is served. With https:// the cookies of the console are kept to https.',
  }),
  tlsCertFile: setting({
    name: 'NUNCIO_TLS_CERT_FILE',
    kind: file,
    default: '',
    whenUnset: null,
    otherwise: 'plain HTTP',
    purpose:
      'The certificate, followed by its intermediates, with which the service speaks https by itself; read again when it changes.',
  }),
  tlsKeyFile: setting({
    name: 'NUNCIO_TLS_KEY_FILE',
    kind: file,
    default: '',
    whenUnset: null,
    otherwise: 'plain HTTP',
    purpose: 'The private key of NUNCIO_TLS_CERT_FILE, without a password.',
  }),
  consolePlainHttp: setting({
    name: 'NUNCIO_CONSOLE_PLAIN_HTTP',
    kind: trueOrFalse,
    default: 'false',
    purpose:
      'Opens the console over plain http to other machines, too, and not to this one alone; only for a network that you trust.',
    warning: (isOpen) =>
      isOpen
        ? 'NUNCIO_CONSOLE_PLAIN_HTTP lets anyone who can listen on the network read passwords and sessions of the console. Serve it by https instead.'
        : null,
  }),
  quietFirstStart: setting({
    name: 'NUNCIO_QUIET_FIRST_START',
    kind: trueOrFalse,
    default: 'false',
    purpose:
      'Starts print neither a token nor the link for the first owner, and make none: they print the commands for them. For a service whose output is kept in a log.',
  }),
  trustedProxies: setting({
    name: 'NUNCIO_TRUSTED_PROXIES',
    kind: cidrList,
    default: '',
    whenUnset: [],
    purpose: 'Addresses of your own proxies: only from them are forwarded client addresses believed.',
  }),
  mediaAllowedPrivate: setting({
    name: 'NUNCIO_MEDIA_ALLOWED_PRIVATE',
    kind: cidrList,
    default: '',
    whenUnset: [],
    purpose: 'Addresses that are not public from which media may be fetched all the same; for developers only.',
    warning: (ranges) =>
      ranges.length === 0
        ? null
        : `NUNCIO_MEDIA_ALLOWED_PRIVATE lets every caller make this service fetch from ${ranges.join(', ')}. Leave it empty in production.`,
  }),
  webhookAllowedPrivate: setting({
    name: 'NUNCIO_WEBHOOK_ALLOWED_PRIVATE',
    kind: cidrList,
    default: '',
    whenUnset: [],
    purpose: 'Addresses that are not public to which webhooks may post all the same; for developers only.',
    warning: (ranges) =>
      ranges.length === 0
        ? null
        : `NUNCIO_WEBHOOK_ALLOWED_PRIVATE lets every account make this service post to ${ranges.join(', ')}. Leave it empty in production.`,
  }),
  outboundDeniedCidrs: setting({
    name: 'NUNCIO_OUTBOUND_DENIED_CIDRS',
    kind: cidrList,
    default: '',
    whenUnset: [],
    purpose:
      'Public addresses of your own networks: no media is fetched from them and no webhook posts to them, even where they are allowed.',
  }),
  dnsServers: setting({
    name: 'NUNCIO_DNS_SERVERS',
    kind: dnsServerList,
    default: '',
    whenUnset: [],
    otherwise: 'those of the system',
    purpose: 'DNS servers that resolve the host names in media URLs.',
  }),
  mediaMaxImageBytes: setting({
    name: 'NUNCIO_MEDIA_MAX_IMAGE_MB',
    kind: megabytes(1, 2048),
    default: '5',
    purpose: 'The largest image that is fetched.',
  }),
  mediaMaxAudioBytes: setting({
    name: 'NUNCIO_MEDIA_MAX_AUDIO_MB',
    kind: megabytes(1, 2048),
    default: '16',
    purpose: 'The largest audio file that is fetched.',
  }),
  mediaMaxVideoBytes: setting({
    name: 'NUNCIO_MEDIA_MAX_VIDEO_MB',
    kind: megabytes(1, 2048),
    default: '16',
    purpose: 'The largest video that is fetched.',
  }),
  mediaMaxDocumentBytes: setting({
    name: 'NUNCIO_MEDIA_MAX_DOCUMENT_MB',
    kind: megabytes(1, 2048),
    default: '100',
    purpose: 'The largest document that is fetched.',
  }),
  mediaSpoolBytesPerAccount: setting({
    name: 'NUNCIO_MEDIA_SPOOL_MB_PER_ACCOUNT',
    kind: megabytes(1, 1_048_576),
    default: '1024',
    purpose: 'How much fetched media of one account may lie on the disk until its turn comes.',
  }),
  maxWaitingPerConnection: setting({
    name: 'NUNCIO_MAX_WAITING_PER_CONNECTION',
    kind: wholeNumber(0, LARGEST_COUNT),
    default: '100000',
    purpose:
      'How many messages may wait on one connection before further ones are answered with 429; 0 means no limit.',
  }),
  maxWaitingPerAccount: setting({
    name: 'NUNCIO_MAX_WAITING_PER_ACCOUNT',
    kind: wholeNumber(0, LARGEST_COUNT),
    default: '1000000',
    purpose: 'How many messages of one account may wait before further ones are answered with 429; 0 means no limit.',
  }),
  acceptRatePerAccount: setting({
    name: 'NUNCIO_ACCEPT_RATE_PER_ACCOUNT',
    kind: wholeNumber(0, LARGEST_COUNT),
    default: '0',
    purpose:
      'How many messages one account may send in a second before further ones are answered with 429; processes that accept on one database share it evenly; 0 means no limit.',
  }),
  refusedLogBytesPerHour: setting({
    name: 'NUNCIO_REFUSED_LOG_MB_PER_HOUR',
    kind: megabytes(0, 1_048_576),
    default: '100',
    purpose:
      'How much of what one account is refused within an hour each process keeps one by one in the API log, with its bodies; what is more is kept as a number for each minute; 0 means no limit.',
  }),
  retentionBodiesDays: setting({
    name: 'NUNCIO_RETENTION_BODIES_DAYS',
    kind: daysOrForEver(LEAST_BODIES_DAYS, MOST_DAYS),
    default: '30',
    purpose:
      'How many days texts, captions, media URLs and file names are kept; 0 keeps them for ever. What has not ended keeps them.',
  }),
  retentionMessagesDays: setting({
    name: 'NUNCIO_RETENTION_MESSAGES_DAYS',
    kind: daysOrForEver(LEAST_MESSAGES_DAYS, MOST_DAYS),
    default: '90',
    purpose:
      'How many days messages with their attempts and timelines, and the API log, are kept; 0 keeps them for ever. What has not ended stays.',
  }),
  retentionAuditDays: setting({
    name: 'NUNCIO_RETENTION_AUDIT_DAYS',
    kind: daysOrForEver(1, MOST_DAYS),
    default: '400',
    purpose: 'How many days the audit log is kept; 0 keeps it for ever.',
  }),
  whatsappCloudUrl: setting({
    name: 'NUNCIO_WHATSAPP_CLOUD_URL',
    kind: networkUrl,
    default: 'https://graph.facebook.com',
    purpose:
      'Where connections of the channel whatsapp-cloud reach Meta’s Graph API; another one than Meta’s own is for a simulator of it.',
    warning: (url) =>
      url.startsWith('https://')
        ? null
        : `NUNCIO_WHATSAPP_CLOUD_URL sends to ${url} and not to Meta: messages reach no recipient, and access tokens go there unencrypted.`,
  }),
  whatsappWebUrl: setting({
    name: 'NUNCIO_WHATSAPP_WEB_URL',
    kind: whatsAppWebUrl,
    default: 'wss://web.whatsapp.com/ws/chat',
    purpose:
      'Where connections of the channel whatsapp-web log in; another one than WhatsApp’s own is for a simulator of it.',
    warning: ({ url, rootKey }) =>
      rootKey === null
        ? null
        : `NUNCIO_WHATSAPP_WEB_URL logs in at ${url} and not at WhatsApp: messages reach no phone.`,
  }),
  whatsappWebVersion: setting({
    name: 'NUNCIO_WHATSAPP_WEB_VERSION',
    kind: whatsAppWebVersion,
    default: '',
    whenUnset: null,
    otherwise: 'the last one that WhatsApp took; if it takes none any more, the one that its page names',
    purpose:
      'The version of WhatsApp Web that connections of the channel whatsapp-web log in as, such as 2.3000.1043857760.',
  }),
  bridgeOrigins: setting({
    name: 'NUNCIO_BRIDGE_ORIGINS',
    kind: originList,
    default: '',
    whenUnset: [],
    purpose:
      'Adapters of the channel bridge that are reached by http or at private addresses, such as http://127.0.0.1:7900; every account may name them, and the secret shows whose they are. Others must have an https URL on the internet.',
  }),
  sandboxMayCrash: setting({
    name: 'NUNCIO_SANDBOX_MAY_CRASH',
    kind: trueOrFalse,
    default: 'false',
    purpose: 'Lets the sandbox recipient 15550100008 kill the service in mid-attempt, to try out what a crash does.',
    warning: (mayCrash) =>
      mayCrash ? 'NUNCIO_SANDBOX_MAY_CRASH lets any caller with a sandbox connection kill this service.' : null,
  }),
  sandboxMediaBytes: setting({
    name: 'NUNCIO_SANDBOX_MEDIA_MB',
    kind: megabytes(0, 1_048_576),
    default: '256',
    purpose: 'How much media the sandbox inbox keeps; the oldest goes first.',
  }),
  logLevel: setting({
    name: 'NUNCIO_LOG_LEVEL',
    kind: oneOf(['silent', 'fatal', 'error', 'warn', 'info', 'debug', 'trace']),
    default: 'info',
    purpose: 'How much is logged; `debug` also shows the details of a fault at the command line.',
  }),
  alarmOldestWaitingMinutes: setting({
    name: 'NUNCIO_ALARM_OLDEST_WAITING_MINUTES',
    kind: wholeNumber(0, 100_000),
    default: '15',
    purpose:
      'How long the first message of a lane may wait before an alarm is raised, for another reason than pace, quiet hours or a pause; 0 raises none.',
  }),
  alarmDiskFreePercent: setting({
    name: 'NUNCIO_ALARM_DISK_FREE_PERCENT',
    kind: wholeNumber(0, 90),
    default: '10',
    purpose:
      'How much of a disk must be free, counted on at most 200 GB of it, before an alarm is raised; less than 1 GB raises one, too; 0 raises none.',
  }),
  metricsAllowed: setting({
    name: 'NUNCIO_METRICS_ALLOWED',
    kind: cidrList,
    default: '',
    whenUnset: [],
    purpose: 'Addresses that may read /metrics besides this machine itself.',
  }),
  metricsSecret: setting({
    name: 'NUNCIO_METRICS_SECRET',
    kind: secretText(16),
    default: '',
    whenUnset: null,
    secret: true,
    purpose: 'A bearer secret with which /metrics may be read from anywhere.',
  }),
  tracesUrl: setting({
    name: 'NUNCIO_TRACES_URL',
    kind: baseUrl,
    default: '',
    whenUnset: null,
    purpose:
      'Where traces are sent: a collector that speaks OTLP over HTTP, such as http://127.0.0.1:4318/v1/traces. Without it nothing is traced.',
    shared: OTEL_ENDPOINTS,
  }),
  tracesSampledPercent: setting({
    name: 'NUNCIO_TRACES_SAMPLED_PERCENT',
    kind: wholeNumber(1, 100),
    default: '100',
    purpose: 'Of how many messages in a hundred the traces are sent; all machines choose the same ones.',
  }),
  tracesHeaders: setting({
    name: 'NUNCIO_TRACES_HEADERS',
    kind: headerPairs,
    default: '',
    whenUnset: {},
    secret: true,
    purpose: 'Headers that the collector asks for, such as authorization=Bearer….',
    shared: OTEL_HEADERS,
  }),
  token: setting({
    name: 'NUNCIO_TOKEN',
    kind: secretText(1),
    default: '',
    whenUnset: null,
    secret: true,
    purpose: `The API token that \`${commandLine`send`}\` uses when it is given no --token; the service itself does not read it.`,
  }),
} as const

type Table = typeof SETTINGS
export type SettingKey = keyof Table
/** The values of the table, before those that follow from others are filled in. */
export type SettingValues = { readonly [Key in SettingKey]: Table[Key] extends Setting<infer T> ? T : never }
