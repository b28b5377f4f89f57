/** Where the documents of a service have its sample files. */
export const SAMPLES_PATH = '/docs/samples'

/** The sample file of each type, for people without one on a public server. It is also an example of a name. */
export const SAMPLES = {
  image: 'photo.jpg',
  document: 'invoice.pdf',
  video: 'tour.mp4',
  audio: 'hello.wav',
} as const
