import { type Html, html } from '../page/html.ts'
import { layout } from '../page/layout.ts'
import { sentence } from '../page/refusal.ts'
import { formTokenField } from './forms.ts'
import type { Visitor } from './visitor.ts'

/** Shows the form that one logs in by, and why the last try was none. */
export const loginPage = (visitor: Visitor, reason: string | null): Html =>
  layout({
    title: 'Log in',
    body: html`<h1>Log in</h1>
${reason === null ? null : html`<p role="alert">${sentence(reason)}</p>\n`}<form method="post" action="/login">
${formTokenField(visitor)}
<p><label for="token">Token of the operators (<code>admin.token</code>)</label>
<input type="password" id="token" name="token" autocomplete="current-password" required autofocus></p>
<p><button type="submit">Log in</button></p>
</form>
<p>A session lasts 30 minutes. Scripts send the token as <code>Authorization: Bearer</code> instead.</p>`,
  })

/** Says why nobody can log in here, and what to do. */
export const noLoginPage = (): Html =>
  layout({
    title: 'No login here',
    body: html`<h1>No login here</h1>
<p>This connection comes over the network and has no TLS. Others on the way could read the token that you type, or the session that you get
for it, so neither is taken from a browser.</p>
<p>One of these helps:</p>
<ul>
<li>Come by a tunnel, which ends on this machine's own loopback: <code>kubectl port-forward POD 9901</code>, or
<code>ssh -L 9901:127.0.0.1:9901 HOST</code>. Then open <code>http://localhost:9901/</code>.</li>
<li>Set <code>admin.tls</code>, restart the gateway, and come back by <code>https://</code>.</li>
</ul>
<p>The commands of the gateway show the same, such as <code>status</code>.</p>`,
  })
