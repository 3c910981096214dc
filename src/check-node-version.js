// Says in one line what is needed, in JavaScript that an older Node runs too: npm may have skipped the install script
// of the package `node`, and would then silently run the machine's own.
import { readFileSync } from 'node:fs'

const { engines } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
const { execPath, versions } = process
const [major, minor] = engines.node.match(/\d+/g).map(Number)
const [foundMajor, foundMinor] = versions.node.split('.').map(Number)
if (foundMajor < major || (foundMajor === major && foundMinor < minor)) {
  console.error(
    `lender-gateway needs Node ${major}.${minor} or later, but this is Node ${versions.node} at ${execPath}. The dev dependency "node" brings the right one: run "npm ci" with install scripts allowed for it.`,
  )
  process.exit(1)
}
