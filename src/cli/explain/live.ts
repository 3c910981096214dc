import { findGateway, type Where } from '../gateway/find.ts'
import { type Live, liveOf } from '../gateway/live.ts'
import { Unasked } from '../gateway/unasked.ts'
import type { Explanation } from './explanation.ts'

/** Asks how it stands with what was explained; null: it is none of the nine, or nobody could be asked, which is said on stderr with exit code 2. */
export const askLive = async ({ operation }: Explanation, where: Where): Promise<Live | null> => {
  if (operation === null) return null
  try {
    const target = await findGateway(where)
    return await liveOf(target, operation)
  } catch (error) {
    if (!(error instanceof Unasked)) throw error
    process.stderr.write(`lender-gateway: ${error.message}\n`)
    process.exitCode = 2
    return null
  }
}
