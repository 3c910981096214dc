// Says in one line what is needed, in JavaScript that any Node can run: npm may have skipped the install script
// of the package `node`, and would then silently run the machine's own, older Node.
var needed = [24, 18]
var found = process.versions.node.split('.').map(Number)
if (found[0] < needed[0] || (found[0] === needed[0] && found[1] < needed[1])) {
  process.stderr.write(
    'lender-gateway needs Node ' +
      needed.join('.') +
      ' or later, but this is Node ' +
      process.versions.node +
      ' at ' +
      process.execPath +
      '. The dev dependency "node" brings the right one: run "npm ci" with install scripts allowed for it.\n',
  )
  process.exit(1)
}
