import { CHANNEL_ACTOR } from './message/timeline.ts'

/** Who did something, as people read it. `actor`: a person's address, `cli`, or the channel that sent a message again. */
export function nameActor(actor: string): string {
  if (actor === 'cli') return 'the command line'
  return actor === CHANNEL_ACTOR ? 'Nuncio' : actor
}
