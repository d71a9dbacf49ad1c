# Python that never rests: each stack has the module, work and ten calls of again, above others that come and go.


def count(most):
    for i in range(most):
        try:
            if i % 7 == 3:
                raise ValueError(i)
            yield i
        except ValueError as error:
            yield len(str(error))


class Work:
    def again(self, depth):
        while depth == 1:
            sum(one + 1 for one in count(50))
            sorted([3, 1, 2], key=lambda item: -item)
        return self.again(depth - 1)


def work():
    Work().again(10)


print('ready', flush=True)
work()
