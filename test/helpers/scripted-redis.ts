/** A server that speaks Redis's protocol, and replies as a test says. */
import { rawUpstream } from './upstream.ts'

/** What a server replies: a text, a list, nothing at all, or an error such as `MOVED 1 127.0.0.1:1`. */
export type RedisReply = string | number | null | Error | readonly RedisReply[]

export interface ScriptedRedis {
  readonly port: number
  /** The commands that it got, each as its words. */
  readonly commands: (readonly string[])[]
  /** Replies to a command. Undefined: nothing. */
  reply: (command: readonly string[]) => RedisReply | undefined
  /** How many connections are open. */
  readonly connections: () => number
  /** Ends its connections, and takes no more. */
  readonly close: () => Promise<void>
}

/** Starts a server that takes every script and counts one for it, unless `reply` says something else. */
export const scriptedRedis = async (
  reply: (command: readonly string[]) => RedisReply | undefined = () => undefined,
): Promise<ScriptedRedis> => {
  const commands: (readonly string[])[] = []
  const { port, connections, close } = await rawUpstream((socket) => {
    socket.on('end', () => socket.end())
    let rest = ''
    socket.setEncoding('latin1').on('data', (text) => {
      rest += text
      for (;;) {
        const [command, length] = parseCommand(rest)
        if (command === null) return
        rest = rest.slice(length)
        commands.push(command)
        const said = scripted.reply(command) ?? byDefault(command)
        if (said !== undefined) socket.write(render(said), 'latin1')
      }
    })
  })
  const scripted: ScriptedRedis = { port, commands, reply, connections, close }
  return scripted
}

const byDefault = ([name = '']: readonly string[]): RedisReply | undefined => {
  if (name === 'SCRIPT') return 'a'.repeat(40)
  if (name === 'EVALSHA' || name === 'EVAL') return '1'
  return name === 'ASKING' ? 'OK' : undefined
}

/** Parses one command, a list of texts. Null: it has not come whole. */
const parseCommand = (text: string): readonly [command: readonly string[] | null, length: number] => {
  const [head = '', count] = /^\*(\d+)\r\n/.exec(text) ?? []
  if (count === undefined) return [null, 0]
  const words: string[] = []
  let at = head.length
  while (words.length < Number(count)) {
    const [prefix = '', length] = /^\$(\d+)\r\n/.exec(text.slice(at)) ?? []
    const end = at + prefix.length + Number(length)
    if (length === undefined || text.length < end + 2) return [null, 0]
    words.push(text.slice(at + prefix.length, end))
    at = end + 2
  }
  return [words, at]
}

const render = (reply: RedisReply): string => {
  if (reply === null) return '$-1\r\n'
  if (reply instanceof Error) return `-${reply.message}\r\n`
  if (typeof reply === 'number') return `:${reply}\r\n`
  return typeof reply === 'string'
    ? `$${reply.length}\r\n${reply}\r\n`
    : `*${reply.length}\r\n${reply.map(render).join('')}`
}
