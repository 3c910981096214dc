// Writes a random token for operators and one for Prometheus below the folder that is named, each once.
import { randomBytes } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

for (const name of ['admin', 'metrics']) {
  const folder = join(process.argv[2], name)
  mkdirSync(folder, { recursive: true })
  try {
    // Each has a volume of its own, and who has that may read it.
    writeFileSync(join(folder, 'token'), randomBytes(32).toString('hex'), { flag: 'wx', mode: 0o444 })
  } catch (error) {
    if (error.code !== 'EEXIST') throw error
  }
}
