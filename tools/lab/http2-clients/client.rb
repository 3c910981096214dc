# Asks as Client.java does, with Ruby's http-2.
require 'digest'
require 'http/2'
require 'openssl'
require 'socket'
require 'uri'

def ask(method, uri, count, at_once, body)
  context = OpenSSL::SSL::SSLContext.new
  context.alpn_protocols = ['h2']
  socket = OpenSSL::SSL::SSLSocket.new(TCPSocket.new(uri.host, uri.port), context)
  socket.sync_close = true
  socket.connect
  outcomes, responses, ended = {}, {}, {}
  connection = HTTP2::Client.new
  connection.on(:frame) { |bytes| socket.write(bytes) }
  head = { ':method' => method, ':scheme' => 'https', ':path' => uri.request_uri }
  head[':authority'] = "#{uri.host}:#{uri.port}"
  connection.on(:frame_received) do |frame|
    ended[frame[:stream]] = true if frame[:flags]&.include?(:end_stream)
    outcomes[frame[:stream]] ||= "reset #{frame[:error]}" if frame[:type] == :rst_stream && !ended[frame[:stream]]
  end
  while outcomes.size < count
    [count - responses.size, at_once - responses.size + outcomes.size].min.times do
      stream = connection.new_stream
      response = responses[stream.id] = [nil, Digest::SHA256.new]
      stream.on(:headers) { |fields| response[0] = fields.to_h[':status'] }
      stream.on(:data) { |data| response[1].update(data) }
      stream.headers(head, end_stream: body.nil?)
      stream.data(body) if body
    end
    connection << socket.readpartial(65536)
    ended.each_key { |id| outcomes[id] ||= responses[id].join(' ') }
  end
  outcomes.values
rescue StandardError => error
  [error.inspect]
ensure
  socket&.close
end

$stdout.sync = true
$stdin.each_line do |task|
  method, url, count, at_once, file = task.split
  body = file == '-' ? nil : File.binread(file)
  puts ask(method, URI(url), count.to_i, at_once.to_i, body).join("\t")
end
