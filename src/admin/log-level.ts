import type { FastifyInstance } from 'fastify'
import { type LogLevel, logLevels } from '../observe/level.ts'
import type { Desk } from './desk.ts'
import { bad, readOrder } from './orders.ts'
import { type Refusal, sendProblem } from './problem.ts'
import { time } from './time.ts'

/** Tells at which level the log is written, and until when an operator has it so; null: the file does. */
export const logLevelStatus = ({ logLevel }: Pick<Desk, 'logLevel'>) => {
  const { level, until } = logLevel.now
  return { level, until: until === null ? null : time(until) }
}

/** Takes orders about the level of the log. They hold while the gateway stops as well: what it does then may be what somebody wants to see. */
export const registerLogLevel = (app: FastifyInstance, desk: Desk): void => {
  app.post('/log-level', async ({ body }, reply) => {
    const refusal = give(desk, typeof body === 'string' ? body : '')
    return refusal === null ? logLevelStatus(desk) : sendProblem(reply, refusal)
  })
}

const give = ({ logLevel }: Desk, body: string): Refusal | null => {
  const given = readOrder(body, { level: 'debug' })
  if ('detail' in given) return given
  const level = logLevels.find((each): each is LogLevel => each === given.said.level)
  if (level !== undefined) logLevel.order(level, given.ttlMs)
  else if (given.said.level === 'back') logLevel.back()
  else return bad(`level is expected to be one of ${logLevels.join(', ')}, or back: what the file says`)
  return null
}
