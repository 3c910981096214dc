# Uploads FILE to URLs with HTTP::Tiny: client.pl FILE COUNT AT_ONCE URL... Prints a line for each: a status, or what failed.
use strict;
use warnings;
use HTTP::Tiny;

my ($path, $count, $at_once, @urls) = @ARGV;
open my $file, '<:raw', $path or die $!;
my $body = do { local $/; <$file> };
my $running = 0;
for my $n (0 .. $count - 1) {
    if ($running >= $at_once) { wait; $running-- }
    $running++;
    next if fork;
    my $response = HTTP::Tiny->new(verify_SSL => 0)->post($urls[$n % @urls], { content => $body });
    my $line = $response->{status} == 599 ? $response->{content} : $response->{status};
    $line =~ s/\s+/ /g;
    syswrite STDOUT, "$line\n";
    exit 0;
}
1 while wait != -1;
