/**
 * The reading order for newcomers. A section contains every page of its folder: those named here come first, the others
 * follow by their titles. A test fails for a page whose folder has no section.
 */
export interface Section {
  readonly title: string
  /** All of its Markdown files belong to the section, unless another section names them. */
  readonly folder: string | null
  /** Files from the project's root, in the order in which they are read. */
  readonly first: readonly string[]
}

export const HOME = 'docs/README.md'

export const SECTIONS: readonly Section[] = [
  {
    title: 'Start',
    folder: null,
    first: [
      HOME,
      'docs/guides/first-message.md',
      'docs/guides/first-whatsapp-message.md',
      'docs/guides/not-sent.md',
      'docs/guides/console.md',
      'docs/guides/client.md',
    ],
  },
  {
    title: 'Concepts',
    folder: 'docs/concepts',
    first: [
      'docs/concepts/what-a-200-means.md',
      'docs/concepts/lanes-and-order.md',
      'docs/concepts/outcomes.md',
      'docs/concepts/workers-and-claims.md',
    ],
  },
  {
    title: 'Guides',
    folder: 'docs/guides',
    first: [
      'docs/guides/sandbox-commands.md',
      'docs/guides/sending-media.md',
      'docs/guides/safe-retries.md',
      'docs/guides/tokens.md',
      'docs/guides/webhooks.md',
      'docs/guides/connections.md',
      'docs/guides/reading-the-log.md',
    ],
  },
  { title: 'Channels', folder: 'docs/channels', first: [] },
  {
    title: 'Operating',
    folder: 'docs/operating',
    first: [
      'docs/operating/install.md',
      'docs/operating/what-happens-if.md',
      'docs/operating/back-up.md',
      'docs/operating/retention.md',
      'docs/operating/upgrade.md',
    ],
  },
  {
    title: 'Reference',
    // Reference pages beside the folders; most of them are generated from tables.
    folder: 'docs',
    first: [
      'docs/api.md',
      'docs/limits.md',
      'docs/refusals.md',
      'docs/reasons.md',
      'docs/message-states.md',
      'docs/guarantees.md',
      'docs/configuration.md',
      'docs/cli.md',
      'docs/notices.md',
      'docs/metrics.md',
      'docs/glossary.md',
      'client/README.md',
    ],
  },
  {
    title: 'The project',
    folder: null,
    first: ['docs/architecture.md', 'docs/performance.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md'],
  },
  { title: 'Decisions', folder: 'docs/decisions', first: [] },
]

/** Programs that pages link to: each has a page of its own, and belongs to no section. */
export const EXAMPLES = 'docs/examples'
