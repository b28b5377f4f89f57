import { Client, type ClientConfig } from 'pg'

type Callback = ((error: Error) => void) | ((error: null, client: Client) => void)
type AnyCallback = (error: Error | null, client?: Client) => void

/**
 * A connection that leaves nothing behind when it cannot be made. pg keeps the socket where it finds the fault itself,
 * such as a missing password, and the server then waits a minute for it, and so does `drop database`.
 *
 * And one that ends no process when it breaks: pg's pool listens only while it is idle, not while `verify` checks it.
 */
export class TidyClient extends Client {
  constructor(config?: ClientConfig) {
    super(config)
    // The statement that runs fails as well, and reports the error.
    this.on('error', () => {})
  }

  override connect(): Promise<Client>
  override connect(callback: Callback): void
  override connect(callback?: Callback): Promise<Client> | undefined {
    if (!callback) {
      return super.connect().catch((error: unknown) => {
        this.#destroySocket()
        throw error
      })
    }
    const report = callback as AnyCallback
    super.connect((error: Error | null, client?: Client) => {
      if (error) this.#destroySocket()
      report(error, client)
    })
    return undefined
  }

  #destroySocket(): void {
    const { connection } = this as unknown as { readonly connection: { readonly stream: { destroy(): void } } }
    connection.stream.destroy()
  }
}
