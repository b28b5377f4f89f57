import {
  NOTIFICATION_GROUPS,
  NOTIFICATION_KINDS,
  type NotificationKindFacts,
} from '../../src/core/notifications/notification-kinds.ts'

/** The text of docs/notices.md. */
export function makeNoticesPage(): string {
  const kinds = Object.entries<NotificationKindFacts>(NOTIFICATION_KINDS)
  const groups = NOTIFICATION_GROUPS.map((group) => {
    const parts = kinds.filter(([, facts]) => facts.group === group).map(([kind, facts]) => printKind(kind, facts))
    return `## ${group.charAt(0).toUpperCase()}${group.slice(1)}\n\n${parts.join('\n\n')}`
  })
  return `# Notices

What Nuncio reports to an account through [webhooks](guides/webhooks.md). Each notification is a JSON object of \`type\`,
\`timestamp\` (when it happened) and \`data\`. The names are stable; fields are added to \`data\` and never renamed, so ignore what
you do not know. A notice never holds the text of a message.

${groups.join('\n\n')}
`
}

function printKind(kind: string, { sentence, example }: NotificationKindFacts): string {
  return `### \`${kind}\`\n\n${sentence}\n\n\`\`\`json\n${JSON.stringify(example, null, 2)}\n\`\`\``
}
