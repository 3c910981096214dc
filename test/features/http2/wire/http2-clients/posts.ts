/** Posts with undici, as Posts.java does. */
import { createInterface } from 'node:readline'
import { Agent, fetch } from 'undici'

const dispatcher = new Agent({ allowH2: true, connections: 1, connect: { rejectUnauthorized: false } })

// fetch does not say the version; the access log does.
const post = (url: string): Promise<string> =>
  fetch(url, { method: 'POST', body: '{}', dispatcher }).then(
    async (response) => {
      await response.text()
      return `HTTP_2 ${response.status}`
    },
    (error) => `${error} ${error.cause}`,
  )

for await (const task of createInterface(process.stdin)) {
  const [count, url = ''] = task.split(' ')
  const outcomes = await Promise.all(Array.from({ length: Number(count) }, () => post(url)))
  process.stdout.write(`${outcomes.join('\t')}\n`)
}
