# SPDX-License-Identifier: MIT OR GPL-2.0-only
# work.pl N: hashes, lists, substitution, objects. Prints sums and what is resident at the end.
use strict;
use warnings;

my $size = shift;
my ($seed, $sum) = (7, 0);

sub random {
	$seed = ($seed * 1103515245 + 12345) % 2147483648;
	return ($seed >> 16) % $_[0];
}

my (%count, @lines);
for my $i (1 .. $size) {
	my $line = join ' ', map { sprintf '%x', random(5000) } 1 .. 8;
	$line =~ s/([a-f])(\d)/$2$1/g;
	$count{$_}++ for split / /, $line;
	$lines[random(2000)] = $line;
}
my @common = (sort { $count{$b} <=> $count{$a} || $a cmp $b } keys %count)[0 .. 9];

my %tree;
for my $i (1 .. $size) {
	my $node = \%tree;
	$node = $node->{ random(8) } //= {} for 1 .. 5;
	push @{ $node->{list} }, bless({ id => $i, name => "n$i" }, 'Thing');
	shift @{ $node->{list} } if @{ $node->{list} } > 3;
}
my @stack = (\%tree);
while (my $node = pop @stack) {
	$sum += $_->{id} for @{ $node->{list} // [] };
	push @stack, @{$node}{ grep { /^\d$/ } sort keys %$node };
}

my $text = join "\n", map { $_ // '' } @lines;
my $found = () = $text =~ /\b[0-9]+[a-f]\b/g;
print "@common $sum $found ", unpack('%32C*', $text), "\n";
open my $file, '<', '/proc/self/statm' or die;
print 'resident ', (split ' ', <$file>)[1] * 4, "\n";
