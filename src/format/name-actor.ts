/** The actor, in timelines and in the audit log, of a message that is repeated in another form for its network. */
export const CHANNEL_ACTOR = 'channel'

/** Who did something, as people read it. `actor`: a person's address, `cli`, or the channel that sent a message again. */
export function nameActor(actor: string): string {
  if (actor === 'cli') return 'the command line'
  return actor === CHANNEL_ACTOR ? 'Nuncio' : actor
}

/** The same after what was done. */
export function byActor(actor: string): string {
  return actor === 'cli' ? 'from the command line' : `by ${nameActor(actor)}`
}
